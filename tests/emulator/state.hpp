// What libcuda shows of its cards to libnvidia-ml, in another process: a file that both map, named
// by PYHARNESS_EMULATOR_STATE.
#pragma once

#include "card.hpp"

#include <atomic>
#include <cstdint>

namespace emulator {

constexpr std::uint64_t kReasonIdle = 0x1;  // nvmlClocksEventReasonGpuIdle
constexpr std::uint64_t kReasonHeat = 0x40; // nvmlClocksEventReasonHwThermalSlowdown
constexpr std::uint32_t kSmClockMhz = 1410; // at work
constexpr std::uint32_t kIdleSmClockMhz = 210;
constexpr std::uint32_t kMemoryClockMhz = 1215;

struct CardState {
    std::atomic<std::uint32_t> written{0}; // 0: nothing was shown yet
    std::atomic<std::uint32_t> sm_clock_mhz{0};
    std::atomic<std::uint32_t> memory_clock_mhz{0};
    std::atomic<std::uint32_t> temperature_c{0};
    std::atomic<std::uint32_t> power_mw{0};
    std::atomic<std::uint64_t> reasons{0};
    std::atomic<std::uint64_t> processes{0}; // that ran a pass on it
    std::atomic<std::uint64_t> passes{0};    // that it was given, by all of them

    void show(std::uint64_t why, std::uint32_t clock_mhz, std::uint32_t degrees, std::uint32_t mw) {
        sm_clock_mhz = clock_mhz;
        memory_clock_mhz = kMemoryClockMhz;
        temperature_c = degrees;
        power_mw = mw;
        reasons = why;
        written = 1;
    }
    void show_idle() { show(kReasonIdle, kIdleSmClockMhz, 35, 60000); }
    // At work, set to a share of its clock and `factor` times slower than it could be then.
    void show_work(double factor, double share) {
        const double slower = factor > 1 ? factor : 1;
        const auto clock = static_cast<std::uint32_t>(kSmClockMhz * share / slower);
        if (factor > 1) show(kReasonHeat, clock, 92, 180000);
        else show(0, clock, 61, 250000);
    }
};

struct State {
    CardState cards[kMaxCards];
};

static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "processes share it");

} // namespace emulator
