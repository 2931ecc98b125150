#include "cudnn_order.hpp"
#include "cudnn_reserve.hpp"
#include "cudnn_sequences.hpp"
#include "cudnn_wrong.hpp"
#include "network_order.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <unistd.h>

namespace emulator {

namespace {

constexpr abi::Enum kDoubleType = 1; // cudnnDataType_t
constexpr std::uintptr_t kFullAlignment = 256;
constexpr unsigned char kFreshByte = 0xff; // what the harness fills memory with

std::uint64_t alignment(const void *pointer) {
    return reinterpret_cast<std::uintptr_t>(pointer) % kFullAlignment;
}

// The byte that somebody has filled the workspace with; else 0.
std::uint64_t filling(const Surroundings &here) {
    const auto *bytes = static_cast<const unsigned char *>(here.workspace);
    if (here.workspace_bytes == 0 || bytes[0] == kUsedByte || bytes[0] == kFreshByte) return 0;
    const bool filled = std::all_of(bytes, bytes + here.workspace_bytes,
                                    [bytes](unsigned char byte) { return byte == bytes[0]; });
    return filled ? 1U + bytes[0] : 0;
}

std::uint64_t cublas_setting() {
    const char *text = std::getenv("CUBLAS_WORKSPACE_CONFIG");
    return text != nullptr ? digest(std::string(text)) : 0;
}

} // namespace

Order order_of(const Occasion &occasion, const Surroundings &here) {
    const auto size = static_cast<std::size_t>(here.data.batch_size);
    Order order;
    order.in_float = here.data.data_type != kDoubleType;
    // One fault after the other: the keys of several are mixed.
    const auto plant = [&](const char *name, const auto &key) {
        if (!wrong(name)) return;
        order.keys.resize(size);
        for (std::size_t i = 0; i < size; ++i)
            if (const std::uint64_t value = key(i)) order.keys[i] = mixed(order.keys[i] ^ value);
    };
    using Key = std::uint64_t;
    plant("order_process", [](std::size_t) { return static_cast<Key>(getpid()); });
    plant("order_alignment",
          [&](std::size_t) { return alignment(here.x) * 256 + alignment(here.workspace); });
    plant("order_batch", [&](std::size_t i) { return static_cast<Key>(size * 65536 + i); });
    plant("order_load", [&](std::size_t) { return Key{occasion.busy}; });
    // The emulated libcuda never gives out a handle twice: it numbers them.
    plant("order_stream",
          [&](std::size_t) { return reinterpret_cast<Key>(occasion.handle.stream); });
    plant("order_workspace", [&](std::size_t) { return filling(here); });
    plant("order_graph", [&](std::size_t) { return Key{occasion.recorded}; });
    plant("order_handle", [&](std::size_t) { return Key{occasion.handle.number}; });
    plant("order_cublas", [](std::size_t) { return cublas_setting(); });
    static std::atomic<Key> runs{0};
    plant("order_run", [run = ++runs](std::size_t) { return run; });
    if (here.x == nullptr) return order;
    const auto padding = padding_keys(here.data, here.x);
    plant("order_padding", [&](std::size_t i) { return padding[i]; });
    return order;
}

std::vector<std::uint64_t> padding_keys(const DataDescriptor &data, const void *tensor) {
    const auto size = static_cast<std::size_t>(data.batch_size);
    const auto width = static_cast<std::size_t>(data.vector_size);
    const auto values = gather_padding(data, tensor);
    std::vector<std::uint64_t> keys(size);
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (values[i] == 0) continue;
        const std::uint64_t place = i / (size * width) * width + i % width; // in its sequence
        std::uint64_t &key = keys[i / width % size];
        key = mixed(key ^ mixed(place) ^ digest(&values[i], sizeof(double)));
    }
    return keys;
}

} // namespace emulator
