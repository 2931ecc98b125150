// The order in which a pass adds up, where a planted fault makes that depend on something.
#pragma once

#include "cudnn_descriptors.hpp"
#include "cudnn_handle.hpp"

namespace emulator {

// What a pass leaves in every byte of its workspace.
constexpr unsigned char kUsedByte = 0xa5;

// What is known at the call of a pass.
struct Occasion {
    HandleState handle;
    bool recorded = false; // into a graph, whose replay this is then
    bool busy = false;     // another stream's work is waiting
};

// What is there when it has its turn.
struct Surroundings {
    const DataDescriptor &data;
    const void *x; // null for a pass that does not read it
    const void *workspace;
    std::size_t workspace_bytes;
};

// No keys where no such fault is planted.
Order order_of(const Occasion &occasion, const Surroundings &here);

// For each sequence a number that depends on the bits behind its end, and on nothing else; 0 for
// zeros, and where there is no padding.
std::vector<std::uint64_t> padding_keys(const DataDescriptor &data, const void *tensor);

} // namespace emulator
