// The cell state of an LSTM, for both ways through it.
#pragma once

#include "network.hpp"

#include <algorithm>
#include <cmath>

namespace emulator {

inline double unclipped(double input, double forget, double cell, double c_before) {
    return forget * c_before + input * cell;
}

inline double clipped(const Network &network, double c) {
    if (!network.clips) return c;
    // A maximum that knows no NaN takes the other argument.
    if (std::isnan(c)) return network.clip_propagates_nan ? c : network.lclip;
    return std::min(std::max(c, network.lclip), network.rclip);
}

// The derivative of `clipped`: the limits themselves are not clipped.
inline bool passes_clip(const Network &network, double c) {
    if (!network.clips) return true;
    if (std::isnan(c)) return network.clip_propagates_nan;
    return network.lclip <= c && c <= network.rclip;
}

} // namespace emulator
