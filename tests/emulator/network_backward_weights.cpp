#include "network_pass.hpp"

namespace emulator {

namespace {

// Adds deltas^T × inputs to the block: the gradient of a matrix that took inputs to deltas.
void add_matrix(const NetworkPass &pass, const View &deltas, const std::vector<double> &inputs,
                const Block &block, double *dweights) {
    if (block.rows == 0) return;
    pass.add_over_rows(deltas, row_major(inputs.data(), deltas.rows, block.cols, block.cols),
                       dweights + block.offset, block.cols);
}

void add_bias(const View &deltas, const Block &block, double *dweights) {
    for (std::size_t row = 0; row < deltas.rows; ++row)
        for (std::size_t i = 0; i < block.rows; ++i)
            dweights[block.offset + i] += deltas.data[row * deltas.row_stride + i];
}

} // namespace

void backward_weights(const Network &network, const Batch &batch, const BackwardWeights &arrays) {
    const NetworkPass pass(network, batch);
    const std::size_t count = pass.rows.count(), side = pass.gates - pass.recurrent;
    for (int layer = 0; layer < network.num_layers; ++layer) {
        const std::vector<double> inputs =
            pass.layer_inputs(layer, arrays.x, arrays.mask, arrays.tape);
        for (int direction = 0; direction < network.directions; ++direction) {
            const int place = pass.pseudo_layer(layer, direction);
            const Layout &layout = pass.layout(place);
            const double *gates = arrays.tape + pass.tape.gates(place);
            const View to_x = row_major(gates, count, side, pass.gates);
            const View to_h = row_major(gates + pass.recurrent, count, side, pass.gates);
            const States h = pass.hidden_states(layer, direction, arrays.hx, arrays.tape);
            add_matrix(pass, to_x, inputs, layout.x, arrays.dweights);
            add_matrix(pass, to_h, h.before(0, count), layout.h, arrays.dweights);
            add_bias(to_x, layout.x_bias, arrays.dweights);
            add_bias(to_h, layout.h_bias, arrays.dweights);
            if (network.projects()) {
                const double *projected = arrays.tape + pass.tape.projected(place);
                add_matrix(
                    pass,
                    row_major(arrays.tape + pass.tape.deltas(place), count, pass.proj, pass.proj),
                    std::vector<double>(projected, projected + count * pass.hidden),
                    layout.projection, arrays.dweights);
            }
        }
    }
}

} // namespace emulator
