// The matrix product as a library adds it up that does not always do so in the same order.
#pragma once

#include "network_multiply.hpp"

#include <cstdint>

namespace emulator {

// A step of the splitmix64 generator.
std::uint64_t mixed(std::uint64_t value);

// c += a × b as add_product has it, but every sum is made one addition after the other, each
// rounded, in an order that belongs to the key; 0: as it comes.
void add_product_in_order(const View &a, const View &b, std::uint64_t key, bool in_float, double *c,
                          std::size_t c_stride);

} // namespace emulator
