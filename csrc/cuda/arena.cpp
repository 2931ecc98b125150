#include "cuda/arena.hpp"

namespace pyharness {

abi::CuPointer Block::need(std::size_t bytes) {
    if (address_ != 0 && bytes <= capacity_) return address_;
    const std::size_t free = room();
    if (bytes > free) throw OutOfMemory(bytes, free);
    // First back, then anew: the old and the new together may be more than there is.
    release();
    const Driver &driver = context_.driver();
    const abi::CuResult result = driver.api().cuMemAlloc_v2(&address_, bytes);
    if (result == abi::kCudaSuccess) capacity_ = bytes;
    else address_ = 0;
    if (result == abi::kCudaOutOfMemory) throw OutOfMemory(bytes, context_.free_bytes());
    if (result != abi::kCudaSuccess) throw driver.error("cuMemAlloc_v2", result);
    return address_;
}

void Block::release() noexcept {
    if (address_ != 0 && context_.try_use()) context_.driver().api().cuMemFree_v2(address_);
    address_ = 0;
    capacity_ = 0;
}

} // namespace pyharness
