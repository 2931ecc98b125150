#include "network_layout.hpp"

namespace emulator {

namespace {

std::size_t elements(const Block &block) { return block.rows * block.cols; }

Block place(std::size_t &end, bool there, int rows, int cols) {
    const Block block{end, there ? static_cast<std::size_t>(rows) : 0,
                      static_cast<std::size_t>(cols)};
    end += elements(block);
    return block;
}

// In which place of its block a gate lies, by lin_layer_id: see the slots of a GRU.
int place_in_block(const Network &network, bool from_x, int gate) {
    return network.cell == kGruCell && from_x ? (gate + 1) % 3 : gate;
}

Part gate_part(const Network &network, int pseudo_layer, int lin_layer_id, bool matrix,
               const Block &block) {
    const int gates = network.gates();
    const bool from_x = lin_layer_id < gates;
    const int place = place_in_block(network, from_x, lin_layer_id % gates);
    const std::size_t rows = block.rows / static_cast<std::size_t>(gates);
    return {pseudo_layer,
            lin_layer_id,
            matrix,
            static_cast<int>(rows),
            static_cast<int>(block.cols),
            block.offset + static_cast<std::size_t>(place) * rows * block.cols};
}

} // namespace

// All matrices, then all biases.
std::vector<Layout> layouts(const Network &network) {
    const int rows = network.gates() * network.hidden_size;
    std::vector<Layout> found;
    std::size_t end = 0;
    for (int pseudo_layer = 0; pseudo_layer < network.pseudo_layers(); ++pseudo_layer) {
        const int layer = pseudo_layer / network.directions;
        Layout layout{};
        layout.x = place(end, layer > 0 || !network.skip_input, rows, network.layer_input(layer));
        layout.h = place(end, true, rows, network.proj_size);
        layout.projection = place(end, network.projects(), network.proj_size, network.hidden_size);
        found.push_back(layout);
    }
    const bool on_x = network.bias == kSingleInputBias || network.bias == kDoubleBias;
    const bool on_h = network.bias == kSingleRecurrentBias || network.bias == kDoubleBias;
    for (Layout &layout : found) {
        layout.x_bias = place(end, on_x, rows, 1);
        layout.h_bias = place(end, on_h, rows, 1);
    }
    return found;
}

std::vector<Part> parts(const Network &network) {
    std::vector<Part> found;
    const int gates = network.gates();
    int pseudo_layer = 0;
    for (const Layout &layout : layouts(network)) {
        for (int id = 0; id < 2 * gates; ++id) {
            const bool from_x = id < gates;
            found.push_back(
                gate_part(network, pseudo_layer, id, true, from_x ? layout.x : layout.h));
            found.push_back(gate_part(network, pseudo_layer, id, false,
                                      from_x ? layout.x_bias : layout.h_bias));
        }
        if (network.cell == kLstmCell) {
            const Block &block = layout.projection;
            found.push_back({pseudo_layer, 2 * gates, true, static_cast<int>(block.rows),
                             static_cast<int>(block.cols), block.offset});
            found.push_back({pseudo_layer, 2 * gates, false, 0, 1, block.offset});
        }
        ++pseudo_layer;
    }
    return found;
}

std::size_t weight_count(const Network &network) {
    const Block last = layouts(network).back().h_bias;
    return last.offset + elements(last);
}

} // namespace emulator
