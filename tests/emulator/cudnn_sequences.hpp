// A batch of sequences in memory: the three layouts.
#pragma once

#include "cudnn_descriptors.hpp"

namespace emulator {

// Elements that the tensor has, padding included.
std::size_t sequence_elements(const DataDescriptor &data);
// The first that belongs to a step that exists.
std::size_t first_element(const DataDescriptor &data);
// Every step that exists, as [max_seq_length, batch_size, vector_size]; zeros in the padding.
std::vector<double> gather(const DataDescriptor &data, const void *tensor);
// Likewise the steps that do not exist; zeros in those that do.
std::vector<double> gather_padding(const DataDescriptor &data, const void *tensor);
// Writes the steps that exist; the padding is left as it is.
void scatter(const DataDescriptor &data, const std::vector<double> &steps, void *tensor);
// Writes padding_fill, where it was given, into the steps past the sequences' ends: there are some
// only where padded IO is on.
void fill_padding(const DataDescriptor &data, void *tensor);

} // namespace emulator
