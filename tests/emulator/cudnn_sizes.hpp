// How large the three spaces must be.
#pragma once

#include "cudnn_descriptors.hpp"

namespace emulator {

struct TempSpace {
    std::size_t workspace_bytes, reserve_space_bytes;
};

// Throws Refusal if the sizes leave what can be addressed.
std::size_t weight_space_bytes(const RnnDescriptor &rnn);
TempSpace temp_space(const RnnDescriptor &rnn, bool training, const DataDescriptor &x);

// What the temp space is for, as bytes: who asks with one key may run with no other.
std::string sized_for(const RnnDescriptor &rnn, const DataDescriptor &x);

// Throws Refusal for what no network can be.
void check_network(const RnnDescriptor &rnn);

} // namespace emulator
