// The C symbols of the emulated libcudnn, with the types that the harness calls them by.
#pragma once

#include "abi/functions.hpp"
#include "device.hpp"

namespace abi = pyharness::abi;

extern "C" {
#define EMULATED(name) EMULATOR_API abi::name name;
PYHARNESS_CUDNN_FUNCTIONS(EMULATED, EMULATED)
#undef EMULATED
}
