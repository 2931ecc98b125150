// Element types: what a tensor holds, as float64 and back, rounded to the nearest, ties to even.
#pragma once

#include "cudnn_exports.hpp"

#include <cstddef>

namespace emulator {

// Bytes of an element; 0 for a type that no RNN runs in.
std::size_t element_bytes(abi::Enum data_type);
void load(abi::Enum data_type, const void *from, std::size_t count, double *to);
void store(abi::Enum data_type, const double *from, std::size_t count, void *to);

} // namespace emulator
