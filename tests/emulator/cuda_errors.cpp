// What errors are called.
#include "driver.hpp"

#include <algorithm>

// The harness looks for this symbol: what it measures here is emulated, never observed.
extern "C" {
EMULATOR_API extern int pyharness_emulator;
int pyharness_emulator = 1;
}

namespace {

struct Named {
    pyharness::abi::CuResult error;
    const char *name, *text;
};

const Named kErrors[] = {
    {0, "CUDA_SUCCESS", "no error"},
    {1, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {2, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {3, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {4, "CUDA_ERROR_DEINITIALIZED", "driver shutting down"},
    {100, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {101, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {201, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {400, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {401, "CUDA_ERROR_ILLEGAL_STATE", "the operation cannot be performed in the present state"},
    {600, "CUDA_ERROR_NOT_READY", "device not ready"},
    {700, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {719, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", "system has unsupported display driver"},
    {900, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
     "operation not permitted when stream is capturing"},
    {901, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED",
     "operation failed due to a previous error during capture"},
    {906, "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT",
     "operation would make the legacy stream depend on a capturing blocking stream"},
    {907, "CUDA_ERROR_CAPTURED_EVENT",
     "operation not permitted on an event last recorded in a capturing stream"},
    {908, "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD",
     "attempt to terminate a thread-local capture sequence from another thread"},
    {999, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

// As the real one: a number that it does not know has neither name nor text.
pyharness::abi::CuResult look_up(const char *function, pyharness::abi::CuResult error,
                                 const char **word, const char *Named::*which) {
    return emulator::call(function, emulator::Needs::kNothing, [&](emulator::Call &) {
        if (word == nullptr) return emulator::kCudaInvalidValue;
        const Named *const end = std::end(kErrors);
        const Named *const found = std::find_if(
            std::begin(kErrors), end, [&](const Named &named) { return named.error == error; });
        *word = found == end ? nullptr : found->*which;
        return found == end ? emulator::kCudaInvalidValue : emulator::kCudaSuccess;
    });
}

} // namespace

pyharness::abi::CuResult cuGetErrorName(pyharness::abi::CuResult error, const char **name) {
    return look_up("cuGetErrorName", error, name, &Named::name);
}

pyharness::abi::CuResult cuGetErrorString(pyharness::abi::CuResult error, const char **text) {
    return look_up("cuGetErrorString", error, text, &Named::text);
}
