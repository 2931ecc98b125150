// What is seen of a device's memory, on an emulated card that deals in steps.
#include "check.hpp"
#include "cuda/memory.hpp"

#include <cstdlib>

using namespace pyharness;

namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;
constexpr std::size_t kCard = 64 * kMiB, kStep = 2 * kMiB;

abi::CuPointer taken(const Driver &driver, std::size_t bytes) {
    abi::CuPointer block = 0;
    CHECK_EQUAL(driver.api().cuMemAlloc_v2(&block, bytes), abi::kCudaSuccess);
    return block;
}

std::size_t used(const Context &context) {
    const DeviceMemory memory = device_memory(context);
    return memory.total - memory.free - memory.room;
}

void sees_less_than_a_step(const Driver &driver) {
    const Context context(driver, 0);
    const DeviceMemory whole = device_memory(context);
    CHECK_EQUAL(whole.total, kCard);
    CHECK_EQUAL(whole.free, kCard);
    CHECK_EQUAL(whole.room, 0); // the first small block begins a step
    const abi::CuPointer one = taken(driver, 100000);
    CHECK_EQUAL(context.free_bytes(), kCard - kStep);
    // 100,000 bytes leave 30 whole blocks of 64 KiB in 2 MiB.
    CHECK_EQUAL(device_memory(context).room, 30 * kSmallBlock);
    CHECK_EQUAL(used(context), 2 * kSmallBlock);
    const abi::CuPointer other = taken(driver, 2 * kSmallBlock);
    CHECK_EQUAL(context.free_bytes(), kCard - kStep); // the driver shows nothing of it
    CHECK_EQUAL(used(context), 4 * kSmallBlock);
    driver.api().cuMemFree_v2(one);
    driver.api().cuMemFree_v2(other);
    CHECK_EQUAL(used(context), 0); // what it took itself is given back
}

void finds_the_largest_block(const Driver &driver) {
    const Context context(driver, 0);
    CHECK_EQUAL(largest_block(context), kCard);
    abi::CuPointer blocks[4];
    for (const std::size_t i : {0, 1, 2, 3})
        blocks[i] = taken(driver, (i == 2 ? 20 : 10) * kMiB);
    CHECK_EQUAL(largest_block(context), 14 * kMiB);
    driver.api().cuMemFree_v2(blocks[0]);
    CHECK_EQUAL(largest_block(context), 14 * kMiB); // 24 MiB are free, in two parts
    driver.api().cuMemFree_v2(blocks[2]);
    CHECK_EQUAL(largest_block(context), 20 * kMiB);
    driver.api().cuMemFree_v2(blocks[1]);
    CHECK_EQUAL(largest_block(context), 40 * kMiB);
    driver.api().cuMemFree_v2(blocks[3]);
    const abi::CuPointer all = taken(driver, kCard - kMiB / 2);
    CHECK_EQUAL(largest_block(context), 0);
    CHECK_EQUAL(context.free_bytes(), 0); // less than a step is told as nothing
    CHECK_EQUAL(used(context), kCard - kMiB / 2);
    driver.api().cuMemFree_v2(all);
    CHECK_EQUAL(context.free_bytes(), kCard);
}

void says_what_failed(const Driver &driver) {
    Context context(driver, 0);
    context.close();
    CHECK(check::throws<std::logic_error>([&] { device_memory(context); }, "closed"));
    CHECK(check::throws<std::logic_error>([&] { largest_block(context); }, "closed"));
}

} // namespace

int main(int, char **argv) {
    const std::string card =
        "memory_bytes=" + std::to_string(kCard) + "\nmemory_step_bytes=" + std::to_string(kStep);
    setenv("PYHARNESS_EMULATOR", card.c_str(), 1);
    const Driver driver(argv[1]);
    sees_less_than_a_step(driver);
    finds_the_largest_block(driver);
    says_what_failed(driver);
    return check::result();
}
