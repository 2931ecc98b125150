// libcuda's side of the state file.
#pragma once

#include "state.hpp"

namespace emulator {

// In the file that PYHARNESS_EMULATOR_STATE names; without one, in this process alone.
CardState &card_state(int ordinal);

} // namespace emulator
