// A handle: the stream that passes run in, and what a fault may depend on.
#pragma once

#include "cudnn_exports.hpp"

namespace emulator {

struct HandleState {
    abi::CudaStream stream = nullptr;
    unsigned number = 0; // which of the process' handles this is, from 1
};

// Throws Refusal if it is none, or if its context can do nothing more.
HandleState &state_of(abi::Handle handle);

} // namespace emulator
