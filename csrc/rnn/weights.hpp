// The weights by name: where cudnnGetRNNWeightParams says they lie, and what they are filled with.
#pragma once

#include "rnn/descriptors.hpp"

#include <string>
#include <vector>

namespace pyharness {

struct WeightPart {
    std::string name; // for example l0.forward.forget.h.matrix
    int pseudo_layer;
    int lin_layer_id;
    bool matrix; // else a bias
    int rows, cols;
    std::size_t offset; // bytes from the start of the weight space

    std::size_t elements() const {
        return static_cast<std::size_t>(rows) * static_cast<std::size_t>(cols);
    }
};

// Asks for every part that the network has. False at the first call that is refused.
bool find_weights(Handle &handle, Descriptors &descriptors, const Settings &settings,
                  abi::CuPointer weights, std::size_t bytes, std::vector<WeightPart> &parts);

// A part's numbers are uniform in [-bound, bound].
double bound(const WeightPart &part, const Settings &settings);

} // namespace pyharness
