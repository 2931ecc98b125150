#include "cudnn_handle.hpp"
#include "cudnn_call.hpp"
#include "cudnn_descriptors.hpp"
#include "cudnn_real.hpp"

#include <atomic>

namespace emulator {

HandleState &state_of(abi::Handle handle) {
    refuse_if(handle == nullptr, "BAD_PARAM", "!handle");
    forbid_if(!exists(kHandleKind, handle), "this handle was not created, or destroyed");
    refuse_if(!usable(), "EXECUTION_FAILED", "no context is current, or an error sticks to it");
    return *static_cast<HandleState *>(handle);
}

} // namespace emulator

using namespace emulator;

abi::Status cudnnCreate(abi::Handle *handle) {
    return call("cudnnCreate", [&](const Faults &) {
        refuse_if(handle == nullptr, "BAD_PARAM", "!handle");
        refuse_if(!usable(), "NOT_INITIALIZED", "cudaGetDeviceCount(&count) != cudaSuccess");
        refuse_if(number("unsupported_arch", 0) != 0, "ARCH_MISMATCH",
                  "the device's compute capability is not supported");
        static std::atomic<unsigned> made{0};
        auto *state = new HandleState;
        state->number = ++made;
        *handle = state;
        created(kHandleKind, *handle);
    });
}

abi::Status cudnnDestroy(abi::Handle handle) {
    return call("cudnnDestroy", [&](const Faults &) {
        if (handle == nullptr) return;
        refuse_if(!destroyed("cudnnDestroy", kHandleKind, handle), "BAD_PARAM",
                  "this handle was not created, or destroyed");
        delete static_cast<HandleState *>(handle);
    });
}

abi::Status cudnnSetStream(abi::Handle handle, abi::CudaStream stream) {
    return call("cudnnSetStream", [&](const Faults &) { state_of(handle).stream = stream; });
}
