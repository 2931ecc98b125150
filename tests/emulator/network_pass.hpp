// What the passes over a network have in common.
#pragma once

#include "network_layout.hpp"
#include "network_multiply.hpp"
#include "network_rows.hpp"
#include "network_tape.hpp"

namespace emulator {

struct NetworkPass {
    NetworkPass(const Network &network, const Batch &batch);

    const Network &network;
    const Order &order; // of the batch
    const Rows rows;
    const Tape tape;
    const std::vector<Layout> layouts;
    const int steps;
    const std::size_t batch_size, hidden, proj;
    const std::size_t cell;      // hidden_size, 0 where the cell has no state of its own
    const std::size_t outputs;   // proj_size × directions, the width of a layer's output
    const std::size_t gates;     // slots × hidden_size, the width of a row of gates
    const std::size_t recurrent; // where in a row of gates those that h goes into begin

    std::size_t inputs(int layer) const {
        return static_cast<std::size_t>(network.layer_input(layer));
    }
    int pseudo_layer(int layer, int direction) const {
        return layer * network.directions + direction;
    }
    const Layout &layout(int pseudo_layer) const {
        return layouts[static_cast<std::size_t>(pseudo_layer)];
    }
    // The first element of a pseudo-layer in an array [pseudo_layers, size, width]; null stays
    // null.
    template <class T> T *state(T *array, int pseudo_layer, std::size_t width) const {
        return array ? array + static_cast<std::size_t>(pseudo_layer) * batch_size * width
                     : nullptr;
    }
    // The step that a direction does as its `turn`-th.
    int step(int turn, int direction) const { return direction == 0 ? turn : steps - 1 - turn; }
    States hidden_states(int layer, int direction, const double *hx, const double *values) const;
    States cell_states(int layer, int direction, const double *cx, const double *values) const;

    // c += a × b, with rows that are those of the batch from `first` on.
    void add(const View &a, const View &b, double *c, std::size_t c_stride,
             std::size_t first = 0) const;
    // c += a^T × b, sums over all rows of the batch.
    void add_over_rows(const View &a, const View &b, double *c, std::size_t c_stride) const;

    // Multiplies the inputs of a layer (or their gradients) with its dropout factors.
    void drop(int layer, const double *mask, std::vector<double> &inputs) const;
    // [rows, layer input], after dropout; `values` is the tape.
    std::vector<double> layer_inputs(int layer, const double *x, const double *mask,
                                     const double *values) const;
};

inline View matrix(const double *weights, const Block &block) {
    return row_major(weights + block.offset, block.rows, block.cols, block.cols);
}

} // namespace emulator
