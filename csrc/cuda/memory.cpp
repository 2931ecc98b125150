#include "cuda/memory.hpp"

#include <tuple>
#include <vector>

namespace pyharness {

namespace {

// Blocks that are given back with the scope.
class Blocks {
  public:
    explicit Blocks(const Driver &driver) : driver_(driver) { taken_.reserve(kMostBlocks); }
    ~Blocks() {
        for (const abi::CuPointer block : taken_)
            driver_.api().cuMemFree_v2(block);
    }
    Blocks(const Blocks &) = delete;
    Blocks &operator=(const Blocks &) = delete;

    // Whether there was such a block.
    bool take(std::size_t bytes) {
        abi::CuPointer block = 0;
        const abi::CuResult result = driver_.api().cuMemAlloc_v2(&block, bytes);
        if (result == abi::kCudaOutOfMemory) return false;
        if (result != abi::kCudaSuccess) throw driver_.error("cuMemAlloc_v2", result);
        taken_.push_back(block);
        return true;
    }

  private:
    const Driver &driver_;
    std::vector<abi::CuPointer> taken_;
};

bool can_be_had(const Driver &driver, std::size_t bytes) { return Blocks(driver).take(bytes); }

} // namespace

DeviceMemory device_memory(const Context &context) {
    DeviceMemory memory;
    std::tie(memory.free, memory.total) = context.memory();
    Blocks blocks(context.driver());
    for (std::size_t i = 0; i < kMostBlocks && blocks.take(kSmallBlock); ++i) {
        if (context.free_bytes() < memory.free) break;
        memory.room += kSmallBlock;
    }
    return memory;
}

std::size_t largest_block(const Context &context) {
    const Driver &driver = context.driver();
    std::size_t had = 0, refused = context.free_bytes() / kBlockStep + 1; // in steps
    if (refused > 1 && can_be_had(driver, (refused - 1) * kBlockStep)) had = refused - 1;
    while (refused - had > 1) {
        const std::size_t middle = had + (refused - had) / 2;
        (can_be_had(driver, middle * kBlockStep) ? had : refused) = middle;
    }
    return had * kBlockStep;
}

} // namespace pyharness
