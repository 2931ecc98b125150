// One step of one sequence: what a cell does between its matrix products.
#pragma once

#include "network.hpp"

namespace emulator {

// `gates` are slots × hidden_size (network_layout.hpp): sums of the products and biases before,
// their activations after. `output` [hidden_size] is what goes into the projection or is h.
void cell_forward(const Network &network, double *gates, const double *h_before,
                  const double *c_before, double *c, double *output);

// `gates` are the activations before, the gradients of the sums after. `dc` [hidden_size] is the
// gradient of the cell state after the step before, of the one that the step started from after.
// What reaches h_before around the matrix products is added to `dh_before`.
void cell_backward(const Network &network, double *gates, const double *h_before,
                   const double *c_before, const double *doutput, double *dc, double *dh_before);

} // namespace emulator
