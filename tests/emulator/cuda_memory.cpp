// Host memory that stands for device memory.
#include "driver.hpp"

#include <cstring>
#include <iterator>
#include <map>
#include <sys/mman.h>
#include <unistd.h>

namespace emulator {

namespace {

constexpr std::size_t kGranule = 512; // alignment, and what a byte costs
constexpr std::size_t kPage = 4096;
constexpr std::size_t kFillBytes = std::size_t{4} << 20;
constexpr std::size_t kKeptBytes = std::size_t{1} << 40; // of freed addresses
// What nobody wrote is not a number in every data type.
constexpr unsigned char kGarbage = 0xff;

struct Allocation {
    std::size_t bytes = 0;   // as asked for
    std::size_t charged = 0; // in whole granules
    char *region = nullptr;  // with a page before and behind that nobody may touch
    std::size_t region_bytes = 0;
    Context *context = nullptr;
};

struct Store {
    std::map<std::uintptr_t, Allocation> live;
    std::deque<Allocation> freed; // addresses that stay forbidden
    std::size_t freed_bytes = 0;
};

Store &store() {
    static Store &only = *new Store;
    return only;
}

std::size_t rounded(std::size_t bytes, std::size_t unit) {
    return (bytes + unit - 1) / unit * unit;
}

// A file full of garbage; pages of it are copied when they are written to, and cost nothing before.
int garbage_file() {
    static const int file = [] {
        const int made = memfd_create("emulator-garbage", MFD_CLOEXEC);
        const std::vector<unsigned char> bytes(kFillBytes, kGarbage);
        if (made < 0 || write(made, bytes.data(), kFillBytes) != static_cast<ssize_t>(kFillBytes))
            refuse_setting("there is no memory to fill allocations with");
        return made;
    }();
    return file;
}

bool fill(char *from, std::size_t bytes) {
    for (std::size_t done = 0; done < bytes; done += kFillBytes) {
        const std::size_t part = std::min(kFillBytes, bytes - done);
        if (mmap(from + done, part, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE,
                 garbage_file(), 0) == MAP_FAILED)
            return false;
    }
    return true;
}

void *forbid(void *at, std::size_t bytes) {
    return mmap(at, bytes, PROT_NONE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | (at != nullptr ? MAP_FIXED : 0), -1,
                0);
}

// The end of the allocation is the end of a page: what runs over it by a granule dies.
std::uintptr_t map_memory(Allocation &allocation) {
    const std::size_t inner = rounded(allocation.charged, kPage);
    allocation.region_bytes = inner + 2 * kPage;
    void *region = forbid(nullptr, allocation.region_bytes);
    if (region == MAP_FAILED) return 0;
    allocation.region = static_cast<char *>(region);
    if (!fill(allocation.region + kPage, inner)) {
        munmap(region, allocation.region_bytes);
        return 0;
    }
    return reinterpret_cast<std::uintptr_t>(allocation.region + kPage + inner) - allocation.charged;
}

void give_back(const Allocation &allocation) {
    allocation.context->used_bytes -= allocation.charged;
    forbid(allocation.region, allocation.region_bytes);
    store().freed.push_back(allocation);
    store().freed_bytes += allocation.region_bytes;
    while (store().freed_bytes > kKeptBytes) {
        const Allocation &oldest = store().freed.front();
        store().freed_bytes -= oldest.region_bytes;
        munmap(oldest.region, oldest.region_bytes);
        store().freed.pop_front();
    }
}

// A copy waits for the null stream, and for nothing else.
template <class Copy>
CuResult copied(const char *name, const void *device, const void *host, std::size_t bytes,
                Copy copy) {
    return call(name, Needs::kContext, [&](Call &made) {
        if (const CuResult refused = unsafe_in_capture(*made.context, true)) return refused;
        if (bytes == 0) return kCudaSuccess;
        if (room(device) < bytes)
            return made.wrong(kCudaInvalidValue, "no allocation holds these device bytes");
        if (host == nullptr) return kCudaInvalidValue;
        wait_for_null_stream(*made.context);
        if (made.context->error == kCudaSuccess) copy();
        return made.context->error;
    });
}

} // namespace

std::size_t free_bytes(const Context &context) {
    return card_bytes() > context.used_bytes ? card_bytes() - context.used_bytes : 0;
}

std::size_t room(const void *pointer) {
    const std::lock_guard<std::recursive_mutex> lock(driver_lock());
    const auto address = reinterpret_cast<std::uintptr_t>(pointer);
    auto after = store().live.upper_bound(address);
    if (after == store().live.begin()) return 0;
    const auto &[start, allocation] = *std::prev(after);
    const std::size_t offset = address - start;
    return offset < allocation.bytes ? allocation.bytes - offset : 0;
}

std::size_t free_all_of(const Context *context) {
    std::size_t count = 0;
    for (auto each = store().live.begin(); each != store().live.end();) {
        if (each->second.context != context) {
            ++each;
            continue;
        }
        give_back(each->second);
        each = store().live.erase(each);
        ++count;
    }
    return count;
}

} // namespace emulator

using namespace emulator;

CuResult cuMemGetInfo_v2(std::size_t *free, std::size_t *total) {
    return call("cuMemGetInfo_v2", Needs::kContext, [&](Call &made) {
        if (free == nullptr || total == nullptr) return kCudaInvalidValue;
        *total = card_bytes();
        *free = free_bytes(*made.context);
        return kCudaSuccess;
    });
}

CuResult cuMemAlloc_v2(CuPointer *pointer, std::size_t bytes) {
    return call("cuMemAlloc_v2", Needs::kContext, [&](Call &made) {
        if (pointer == nullptr || bytes == 0) return kCudaInvalidValue;
        if (const CuResult refused = unsafe_in_capture(*made.context, false)) return refused;
        Allocation allocation;
        allocation.bytes = bytes;
        allocation.context = made.context;
        const std::size_t free = free_bytes(*made.context);
        if (bytes > free || rounded(bytes, kGranule) > free) return abi::kCudaOutOfMemory;
        allocation.charged = rounded(bytes, kGranule);
        const std::uintptr_t start = map_memory(allocation);
        if (start == 0) return abi::kCudaOutOfMemory;
        made.context->used_bytes += allocation.charged;
        store().live[start] = allocation;
        *pointer = start;
        return kCudaSuccess;
    });
}

CuResult cuMemFree_v2(CuPointer pointer) {
    return call("cuMemFree_v2", Needs::kContext, [&](Call &made) {
        if (const CuResult refused = unsafe_in_capture(*made.context, false)) return refused;
        const auto found = store().live.find(pointer);
        if (found == store().live.end())
            return made.wrong(kCudaInvalidValue, "no allocation begins there");
        if (made.has("leak")) return kCudaSuccess;
        wait_for_null_stream(*made.context);
        if (made.context->error != kCudaSuccess) return made.context->error;
        give_back(found->second);
        store().live.erase(found);
        return kCudaSuccess;
    });
}

CuResult cuMemcpyHtoD_v2(CuPointer to, const void *from, std::size_t bytes) {
    void *target = reinterpret_cast<void *>(to);
    return copied("cuMemcpyHtoD_v2", target, from, bytes,
                  [&] { std::memcpy(target, from, bytes); });
}

CuResult cuMemcpyDtoH_v2(void *to, CuPointer from, std::size_t bytes) {
    const void *source = reinterpret_cast<const void *>(from);
    return copied("cuMemcpyDtoH_v2", source, to, bytes, [&] { std::memcpy(to, source, bytes); });
}
