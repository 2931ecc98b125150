#include "cuda/context.hpp"

#include <algorithm>

namespace pyharness {

Tenant::Tenant(Context &context) : context_(context) {
    context.use();
    context.tenants_.push_back(this);
}

Tenant::~Tenant() {
    auto &all = context_.tenants_;
    all.erase(std::remove(all.begin(), all.end(), this), all.end());
}

Context::Context(const Driver &driver, int ordinal) : driver_(driver) {
    PYHARNESS_CUDA(driver_, cuInit)(0U);
    PYHARNESS_CUDA(driver_, cuDeviceGet)(&device_, ordinal);
    PYHARNESS_CUDA(driver_, cuDevicePrimaryCtxRetain)(&context_, device_);
    if (const abi::CuResult result = driver_.api().cuCtxSetCurrent(context_);
        result != abi::kCudaSuccess) {
        driver_.api().cuDevicePrimaryCtxRelease_v2(device_); // no destructor will
        throw driver_.error("cuCtxSetCurrent", result);
    }
}

void Context::use() const {
    if (context_ == nullptr) throw std::logic_error("the device is closed");
    PYHARNESS_CUDA(driver_, cuCtxSetCurrent)(context_);
}

bool Context::try_use() const noexcept {
    return context_ != nullptr && driver_.api().cuCtxSetCurrent(context_) == abi::kCudaSuccess;
}

void Context::synchronize() const {
    use();
    PYHARNESS_CUDA(driver_, cuCtxSynchronize)();
}

std::size_t Context::free_bytes() const { return memory().first; }

std::pair<std::size_t, std::size_t> Context::memory() const {
    use();
    std::size_t free = 0, total = 0;
    PYHARNESS_CUDA(driver_, cuMemGetInfo_v2)(&free, &total);
    return {free, total};
}

int Context::attribute(int which) const {
    int value = 0;
    PYHARNESS_CUDA(driver_, cuDeviceGetAttribute)(&value, which, device_);
    return value;
}

DeviceFacts Context::facts() const {
    use();
    DeviceFacts facts{};
    char name[256] = "", bus[64] = "";
    PYHARNESS_CUDA(driver_, cuDeviceGetName)(name, static_cast<int>(sizeof(name)), device_);
    PYHARNESS_CUDA(driver_, cuDeviceGetPCIBusId)(bus, static_cast<int>(sizeof(bus)), device_);
    PYHARNESS_CUDA(driver_, cuDeviceTotalMem_v2)(&facts.memory_bytes, device_);
    facts.name = name;
    facts.pci_bus_id = bus;
    facts.compute_capability = std::to_string(attribute(abi::kComputeCapabilityMajor)) + '.' +
                               std::to_string(attribute(abi::kComputeCapabilityMinor));
    facts.multiprocessors = attribute(abi::kMultiprocessorCount);
    facts.l2_bytes = attribute(abi::kL2CacheBytes);
    facts.driver_version = driver_.version();
    return facts;
}

void Context::close() noexcept {
    if (context_ == nullptr) return;
    try_use();
    for (std::size_t i = tenants_.size(); i-- > 0;)
        tenants_[i]->leave();
    driver_.api().cuCtxSetCurrent(nullptr);
    driver_.api().cuDevicePrimaryCtxRelease_v2(device_);
    context_ = nullptr;
}

} // namespace pyharness
