#include "network_tape.hpp"

#include "network_layout.hpp"

namespace emulator {

Tape::Tape(const Network &network, const Batch &batch)
    : layers_(static_cast<std::size_t>(network.num_layers)),
      pseudo_layers_(static_cast<std::size_t>(network.pseudo_layers())) {
    const std::size_t rows =
        static_cast<std::size_t>(batch.steps) * static_cast<std::size_t>(batch.size);
    const auto hidden = rows * static_cast<std::size_t>(network.hidden_size);
    const auto proj = rows * static_cast<std::size_t>(network.proj_size);
    outputs_ = proj * static_cast<std::size_t>(network.directions);
    gates_ = hidden * static_cast<std::size_t>(slots(network));
    cells_ = network.cell == kLstmCell ? hidden : 0;
    projected_ = network.projects() ? hidden : 0;
    deltas_ = network.projects() ? proj : 0;
}

std::size_t Tape::outputs(int layer) const { return static_cast<std::size_t>(layer) * outputs_; }

std::size_t Tape::gates(int pseudo_layer) const {
    return layers_ * outputs_ +
           static_cast<std::size_t>(pseudo_layer) * (gates_ + cells_ + projected_ + deltas_);
}

std::size_t Tape::count() const { return gates(static_cast<int>(pseudo_layers_)); }

std::size_t tape_count(const Network &network, const Batch &batch) {
    return Tape(network, batch).count();
}

} // namespace emulator
