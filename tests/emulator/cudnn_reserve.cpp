#include "cudnn_reserve.hpp"
#include "cudnn_refusal.hpp"

#include <algorithm>
#include <cstring>

namespace emulator {

namespace {

constexpr std::uint64_t kMark = 0x7e5e67e5ace5a11dULL;

// Work on a reserve space that waits in a stream, or was recorded in a graph.
struct Promise {
    std::uint64_t problem = 0;
    Phase phase = kNothing;
    int waiting = 0;
    bool captured = false; // by the last of it
    bool recorded = false; // by any of it
};

Memory<Promise> &promises() {
    static Memory<Promise> memory;
    return memory;
}

} // namespace

std::uint64_t digest(const void *bytes, std::size_t count) {
    // FNV-1a over words of eight bytes.
    std::uint64_t value = 0xcbf29ce484222325ULL;
    for (std::size_t i = 0; i < count; i += 8) {
        std::uint64_t word = 0;
        std::memcpy(&word, static_cast<const char *>(bytes) + i,
                    std::min<std::size_t>(8, count - i));
        value = (value ^ word) * 0x100000001b3ULL;
        value ^= value >> 32;
    }
    return value;
}

std::uint64_t digest(const std::string &key) { return digest(key.data(), key.size()); }

std::uint64_t digest(const std::vector<double> &values) {
    return values.empty() ? 0 : digest(values.data(), values.size() * sizeof(double));
}

Stamp read_stamp(const void *reserve_space) {
    static_assert(sizeof(Stamp) <= kStampBytes);
    Stamp stamp;
    std::memcpy(&stamp, reserve_space, sizeof(stamp));
    return stamp;
}

void write_stamp(void *reserve_space, Stamp stamp) {
    stamp.mark = kMark;
    std::memcpy(reserve_space, &stamp, sizeof(stamp));
}

std::string unfit(const Stamp &stamp, std::uint64_t problem, Phase phase) {
    if (stamp.mark != kMark) return "the reserve space holds no forward pass of training";
    if (stamp.problem != problem) return "the reserve space holds another problem's forward pass";
    if (stamp.phase == phase) return "";
    return phase == kDataDone ? "there was no backward data pass before"
                              : "the reserve space was used up by a backward data pass";
}

void expect(const void *reserve_space, void *stream, std::uint64_t problem, Phase wanted) {
    const Promise promised = promises().get(reserve_space);
    const bool records = capturing(stream);
    // A graph may be launched at any time: what it left is seen when the pass has its turn.
    if (promised.recorded && !records) return;
    Stamp stamp;
    if (promised.waiting > 0 || (promised.captured && records)) {
        stamp.mark = kMark;
        stamp.problem = promised.problem;
        stamp.phase = promised.phase;
    } else {
        stamp = read_stamp(reserve_space);
    }
    const std::string what = unfit(stamp, problem, wanted);
    forbid_if(!what.empty(), what);
}

void promise(const void *reserve_space, std::uint64_t problem, Phase phase, bool captured) {
    promises().change(reserve_space, [&](Promise &made) {
        made.problem = problem;
        made.phase = phase;
        made.captured = captured;
        made.recorded = made.recorded || captured;
        if (!captured) ++made.waiting;
    });
}

void done(const void *reserve_space) {
    bool kept = true;
    promises().change(reserve_space,
                      [&](Promise &made) { kept = --made.waiting > 0 || made.recorded; });
    if (!kept) promises().forget(reserve_space); // the stamp says it all, and soaks are long
}

} // namespace emulator
