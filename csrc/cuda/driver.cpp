#include "cuda/driver.hpp"

namespace pyharness {

Driver::Driver(const std::string &path) : object_(path) {
    std::string missing;
#define PYHARNESS_RESOLVE(name)                                                                    \
    api_.name = object_.function<abi::name>(#name);                                                \
    if (api_.name == nullptr) missing += missing.empty() ? #name : ", " #name;
    PYHARNESS_CUDA_FUNCTIONS(PYHARNESS_RESOLVE)
#undef PYHARNESS_RESOLVE
    if (!missing.empty()) throw LoadError(path + ": has no " + missing);
}

int Driver::version() const {
    int version = 0;
    PYHARNESS_CUDA(*this, cuDriverGetVersion)(&version);
    return version;
}

int Driver::device_count() const {
    int count = 0;
    PYHARNESS_CUDA(*this, cuInit)(0U);
    PYHARNESS_CUDA(*this, cuDeviceGetCount)(&count);
    return count;
}

void Driver::copy_in(abi::CuPointer to, const void *from, std::size_t bytes) const {
    PYHARNESS_CUDA(*this, cuMemcpyHtoD_v2)(to, from, bytes);
}

void Driver::copy_out(void *to, abi::CuPointer from, std::size_t bytes) const {
    PYHARNESS_CUDA(*this, cuMemcpyDtoH_v2)(to, from, bytes);
}

CudaError Driver::error(const char *call, abi::CuResult result) const {
    const char *name = nullptr, *text = nullptr;
    api_.cuGetErrorName(result, &name);
    api_.cuGetErrorString(result, &text);
    return CudaError(call, result, name != nullptr ? name : std::to_string(result),
                     text != nullptr ? text : "");
}

void Driver::fail(const char *call, abi::CuResult result) const { throw error(call, result); }

} // namespace pyharness
