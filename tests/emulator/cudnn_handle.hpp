// A handle: the stream that passes run in.
#pragma once

#include "cudnn_exports.hpp"

namespace emulator {

struct HandleState {
    abi::CudaStream stream = nullptr;
};

// Throws Refusal if it is none, or if its context can do nothing more.
HandleState &state_of(abi::Handle handle);

} // namespace emulator
