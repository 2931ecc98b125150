// The faults of the setting `wrong`: results that are not what they should be, and no call fails.
#pragma once

#include "cudnn_pass.hpp"

namespace emulator {

// Whether a fault is planted.
bool wrong(const char *name);

// What a pass reads, as it takes it. A fault in there is one of all passes alike: gradients are
// those of what forward calculated.
std::vector<double> read_x(const Pass &pass, const void *tensor);
std::vector<double> read_state(const Pass &pass, int width, const void *tensor);
std::vector<double> read_weights(const Pass &pass, const void *weight_space);

// The states that the first layer's reverse direction begins with, after it went through the
// padding of x. Nothing happens to those of other sequences and layers.
void begin_in_padding(const Pass &pass, const void *x, const std::vector<double> &weights,
                      std::vector<double> &hx, std::vector<double> &cx);

// What forward writes, before it is written: y [steps, batch, width], and all three.
void spoil_y(const Pass &pass, std::vector<double> &y);
void spoil_output(const Pass &pass, std::vector<double> &values);

} // namespace emulator
