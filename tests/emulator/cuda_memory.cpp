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
constexpr std::size_t kMergedBytes = std::size_t{1} << 30;
// What nobody wrote is not a number in every data type.
constexpr unsigned char kGarbage = 0xff;

struct Allocation {
    std::size_t bytes = 0;   // as asked for
    std::size_t charged = 0; // in whole granules
    std::size_t at = 0;      // on the card
    char *region = nullptr;  // with a page before and behind that nobody may touch
    std::size_t region_bytes = 0;
    Context *context = nullptr;
};

struct Region {
    char *start;
    std::size_t bytes;
};

struct Store {
    std::map<std::uintptr_t, Allocation> live;
    std::deque<Region> freed; // addresses that stay forbidden
    std::size_t freed_bytes = 0;
};

Store &store() {
    static Store &only = *new Store;
    return only;
}

std::size_t rounded(std::size_t bytes, std::size_t unit) {
    return (bytes + unit - 1) / unit * unit;
}

// Calls `use` with the start and the end of each part of the card that nobody holds, in order,
// until it answers true.
template <class Use> void each_gap(const Context &context, Use use) {
    std::size_t from = 0;
    for (const auto &[at, bytes] : context.held) {
        if (at > from && use(from, at)) return;
        from = at + bytes;
    }
    if (card_bytes() > from) use(from, card_bytes());
}

// The first gap that is large enough.
std::optional<std::size_t> take(Context &context, std::size_t bytes) {
    std::optional<std::size_t> taken;
    each_gap(context, [&](std::size_t from, std::size_t to) {
        if (to - from >= bytes) taken = from;
        return taken.has_value();
    });
    if (taken) context.held[*taken] = bytes;
    return taken;
}

// A granule in the middle of the largest gap.
void split_largest_gap(Context &context) {
    std::size_t from = 0, to = 0;
    each_gap(context, [&](std::size_t start, std::size_t end) {
        if (end - start > to - from) from = start, to = end;
        return false;
    });
    const std::size_t middle = (from + (to - from) / 2) / kGranule * kGranule;
    if (to - from >= 3 * kGranule) context.held[middle] = kGranule;
}

// Memory of nobody: `leak_device`, or a hoard that `fragment` breaks up granule by granule.
void spoil_memory(const Due &due) {
    const std::lock_guard<std::recursive_mutex> lock(driver_lock());
    Context *context = current_context();
    if (context == nullptr) return;
    const std::size_t bytes =
        rounded(static_cast<std::size_t>(*read_number(due.argument)), kGranule);
    if (due.kind == "leak_device") {
        if (take(*context, bytes)) ++context->lost;
        return;
    }
    if (!context->hoard) {
        context->hoard = take(*context, bytes);
        return;
    }
    const auto hoard = context->held.find(*context->hoard);
    if (hoard == context->held.end() || hoard->second <= kGranule) return;
    hoard->second -= kGranule;
    split_largest_gap(*context);
    ++context->lost;
}

void know_memory_faults() __attribute__((constructor));
void know_memory_faults() { memory_fault = spoil_memory; }

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
    allocation.context->held.erase(allocation.at);
    forbid(allocation.region, allocation.region_bytes);
    auto &freed = store().freed;
    // Most lie below the one before: as one they take no memory of the host for each.
    if (!freed.empty() && freed.back().bytes < kMergedBytes &&
        freed.back().start == allocation.region + allocation.region_bytes)
        freed.back() = {allocation.region, freed.back().bytes + allocation.region_bytes};
    else freed.push_back({allocation.region, allocation.region_bytes});
    store().freed_bytes += allocation.region_bytes;
    while (store().freed_bytes > kKeptBytes) {
        const Region &oldest = freed.front();
        store().freed_bytes -= oldest.bytes;
        munmap(oldest.start, oldest.bytes);
        freed.pop_front();
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
    std::size_t used = 0;
    for (const auto &[at, bytes] : context.held)
        used += bytes;
    return card_bytes() > used ? card_bytes() - used : 0;
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

std::size_t free_all_of(Context *context) {
    std::size_t count = context->lost;
    for (auto each = store().live.begin(); each != store().live.end();) {
        if (each->second.context != context) {
            ++each;
            continue;
        }
        give_back(each->second);
        each = store().live.erase(each);
        ++count;
    }
    context->held.clear();
    context->lost = 0;
    context->hoard.reset();
    return count;
}

} // namespace emulator

using namespace emulator;

CuResult cuMemGetInfo_v2(std::size_t *free, std::size_t *total) {
    return call("cuMemGetInfo_v2", Needs::kContext, [&](Call &made) {
        if (free == nullptr || total == nullptr) return kCudaInvalidValue;
        *total = card_bytes();
        const std::size_t bytes = free_bytes(*made.context);
        *free = bytes - bytes % memory_step_bytes();
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
        if (bytes > card_bytes()) return abi::kCudaOutOfMemory;
        allocation.charged = rounded(bytes, kGranule);
        const std::optional<std::size_t> at = take(*made.context, allocation.charged);
        if (!at) return abi::kCudaOutOfMemory;
        allocation.at = *at;
        const std::uintptr_t start = map_memory(allocation);
        if (start == 0) {
            made.context->held.erase(*at);
            return abi::kCudaOutOfMemory;
        }
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
