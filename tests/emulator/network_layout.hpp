// Where the weights of one layer and direction lie, with the gates of one source in one block.
#pragma once

#include "network.hpp"

namespace emulator {

// A gate is a row of blocks of hidden_size values in the tape. The new gate of a GRU has two: what
// comes from x, and what comes from h and is multiplied with the reset gate. With the slots
//   new from x | reset | update | new from h
// x goes into the first three and h into the last three, so that each is one matrix product.
inline int slots(const Network &network) { return network.cell == kGruCell ? 4 : network.gates(); }
inline int first_recurrent_slot(const Network &network) { return slots(network) - network.gates(); }

struct Block {
    std::size_t offset, rows, cols; // 0 rows: not there
};

struct Layout {
    Block x, h;           // [gates × hidden_size, layer input or proj_size]
    Block projection;     // [proj_size, hidden_size]
    Block x_bias, h_bias; // [gates × hidden_size, 1]
};

std::vector<Layout> layouts(const Network &network); // one a pseudo-layer

} // namespace emulator
