// The virtual clock as a simulation drives it: what passes would cost, without a process for each.
#pragma once

#include "device.hpp"

#include <cstdint>

namespace emulator {

// Where a pass stands: its process among those of its card, and its number in its process and on
// its card.
struct Place {
    std::uint64_t process, pass, on_card;
};

} // namespace emulator

// As configure() of device.hpp.
extern "C" EMULATOR_API void pyharness_emulator_configure(const char *text);

// The passes of a new process by the settings of now, one case after the other, `count` of each:
// the same numbers as if it had run. Nothing is run, and the card is as it was.
//   process  its number on its card; on_card: the card's passes before it
//   cost_ns  [cases]
//   ns       [cases, count]
//   mhz      [cases], the clock that NVML tells at the end of each, unless the card is throttled
extern "C" EMULATOR_API void pyharness_emulator_costs(std::uint64_t process, std::uint64_t on_card,
                                                      std::uint64_t cases, const double *cost_ns,
                                                      std::uint64_t count, double *ns, double *mhz);
