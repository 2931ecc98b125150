// Dropout's states in device memory, and the masks that are drawn from them.
#pragma once

#include "cudnn_descriptors.hpp"

#include <optional>

namespace emulator {

std::size_t dropout_states_bytes();

// One training pass' draw: the masks are a function of it.
struct Draw {
    std::uint64_t seed = 0;
    std::uint64_t pass = 0; // how many passes drew before
    double rate = 0;
};

// Takes the next draw from the states and moves them on; nothing if they were never written, or
// something else was written over them.
std::optional<Draw> draw(const Dropout &dropout);
// The factors 0 and 1 / (1 - rate), as Forward::mask takes them; empty for rate 0.
std::vector<double> mask(const Draw &draw, const Network &network, const Batch &batch);

} // namespace emulator
