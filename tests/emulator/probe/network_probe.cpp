// The network behind a C interface, for the tests that call it through ctypes.
#include "network.hpp"

#include <algorithm>
#include <iterator>

using namespace emulator;

namespace {

struct Shape {
    int cell, bias, directions, skip_input, input_size, hidden_size, proj_size, num_layers;
    int clips, clip_propagates_nan;
    double lclip, rclip;
    int steps, size;
    const int *lengths;
};

Network network_of(const Shape &shape) {
    Network network;
    network.cell = static_cast<Cell>(shape.cell);
    network.bias = static_cast<Bias>(shape.bias);
    network.directions = shape.directions;
    network.skip_input = shape.skip_input != 0;
    network.input_size = shape.input_size;
    network.hidden_size = shape.hidden_size;
    network.proj_size = shape.proj_size;
    network.num_layers = shape.num_layers;
    network.clips = shape.clips != 0;
    network.clip_propagates_nan = shape.clip_propagates_nan != 0;
    network.lclip = shape.lclip;
    network.rclip = shape.rclip;
    return network;
}

Batch batch_of(const Shape &shape) {
    return {shape.steps, shape.size, {shape.lengths, shape.lengths + shape.size}};
}

} // namespace

extern "C" {

// Six numbers a part: pseudo_layer, lin_layer_id, matrix, rows, cols, offset. Says how many parts
// there are; writes no more than `room`.
int probe_parts(const Shape *shape, long long *numbers, int room) {
    const std::vector<Part> found = parts(network_of(*shape));
    for (std::size_t i = 0; i < std::min(found.size(), static_cast<std::size_t>(room)); ++i) {
        const Part &part = found[i];
        const long long row[] = {part.pseudo_layer, part.lin_layer_id,
                                 part.matrix,       part.rows,
                                 part.cols,         static_cast<long long>(part.offset)};
        std::copy(std::begin(row), std::end(row), numbers + 6 * i);
    }
    return static_cast<int>(found.size());
}

long long probe_weight_count(const Shape *shape) {
    return static_cast<long long>(weight_count(network_of(*shape)));
}

long long probe_tape_count(const Shape *shape) {
    return static_cast<long long>(tape_count(network_of(*shape), batch_of(*shape)));
}

void probe_forward(const Shape *shape, const Forward *arrays) {
    forward(network_of(*shape), batch_of(*shape), *arrays);
}

void probe_backward_data(const Shape *shape, const BackwardData *arrays) {
    backward_data(network_of(*shape), batch_of(*shape), *arrays);
}

void probe_backward_weights(const Shape *shape, const BackwardWeights *arrays) {
    backward_weights(network_of(*shape), batch_of(*shape), *arrays);
}
}
