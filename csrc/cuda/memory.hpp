// How much memory a device has, as closely as the driver lets it be seen.
#pragma once

#include "cuda/context.hpp"

namespace pyharness {

struct DeviceMemory {
    std::size_t total = 0;
    std::size_t free = 0; // as the driver says it, in steps of 2 MiB on many cards
    // What small blocks can still be had before `free` falls: the rest of a step that is begun.
    std::size_t room = 0;
};

// Takes blocks of kSmallBlock bytes until the driver calls less free, kMostBlocks at most, and
// gives them back.
constexpr std::size_t kSmallBlock = std::size_t{64} << 10;
constexpr std::size_t kMostBlocks = 128;
DeviceMemory device_memory(const Context &context);

// The largest block that can be had, found by taking blocks and giving them back: to kBlockStep
// bytes, or to nothing below it. While it looks, nobody else has that memory.
constexpr std::size_t kBlockStep = std::size_t{1} << 20;
std::size_t largest_block(const Context &context);

} // namespace pyharness
