// Where in the tape each value of a pass lies. Rows as in network_rows.hpp; offsets are elements.
#pragma once

#include "network.hpp"

namespace emulator {

class Tape {
  public:
    Tape(const Network &network, const Batch &batch);

    // Of a layer: [rows, proj_size × directions].
    std::size_t outputs(int layer) const;
    // Of a pseudo-layer: the gates [rows, slots × hidden_size], which backward_data replaces by
    // their deltas; the cell states [rows, hidden_size]; what goes into the projection
    // [rows, hidden_size] and the deltas of what comes out [rows, proj_size].
    std::size_t gates(int pseudo_layer) const;
    std::size_t cells(int pseudo_layer) const { return gates(pseudo_layer) + gates_; }
    std::size_t projected(int pseudo_layer) const { return cells(pseudo_layer) + cells_; }
    std::size_t deltas(int pseudo_layer) const { return projected(pseudo_layer) + projected_; }
    std::size_t count() const;

  private:
    std::size_t layers_, pseudo_layers_;
    std::size_t outputs_, gates_, cells_, projected_, deltas_; // elements of each
};

} // namespace emulator
