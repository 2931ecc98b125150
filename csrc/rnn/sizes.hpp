// How many bytes a problem needs: what its shapes say, and what the library asks for.
#pragma once

#include "rnn/descriptors.hpp"

#include <string>
#include <utility>
#include <vector>

namespace pyharness {

struct Sizes {
    std::size_t weight_space = 0;
    std::size_t inference_workspace = 0, inference_reserve_space = 0;
    std::size_t training_workspace = 0, reserve_space = 0;
};

// Asks for the sizes of this very problem: they do not grow with it, so that none can be kept.
// False at the first call that is refused.
bool ask_sizes(Handle &handle, const Descriptors &descriptors, Sizes &sizes);

// Elements of x and of y, by the layout; a product that leaves 64 bits stays at its end.
std::size_t data_elements(const Settings &settings, int vector_size);

// Bytes of x, y, hx … dcy by name, in this order; those of c only where the cell has such a state.
std::vector<std::pair<std::string, std::size_t>> tensor_bytes(const Settings &settings);

} // namespace pyharness
