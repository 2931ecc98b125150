#include "cudnn_sequences.hpp"
#include "cudnn_types.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace emulator {

namespace {

constexpr abi::Enum kSeqMajorPacked = 1, kBatchMajorUnpacked = 2; // cudnnRNNDataLayout_t

// Calls visit(place in [steps, batch], place in the tensor, whether the step exists), both counted
// in vectors. The packed layout has a step's sequences one behind the other, without those that
// have ended.
template <class Visit> void for_each_vector(const DataDescriptor &data, Visit visit) {
    const auto steps = static_cast<std::size_t>(data.max_seq_length);
    const auto batch = static_cast<std::size_t>(data.batch_size);
    std::size_t packed = 0;
    for (std::size_t t = 0; t < steps; ++t)
        for (std::size_t b = 0; b < batch; ++b) {
            const bool there = t < static_cast<std::size_t>(data.seq_lengths[b]);
            const std::size_t place = t * batch + b;
            if (data.layout == kBatchMajorUnpacked) visit(place, b * steps + t, there);
            else if (data.layout != kSeqMajorPacked) visit(place, place, there);
            else if (there) visit(place, packed++, true);
        }
}

} // namespace

std::size_t sequence_elements(const DataDescriptor &data) {
    const std::size_t vectors =
        data.layout == kSeqMajorPacked
            ? std::accumulate(data.seq_lengths.begin(), data.seq_lengths.end(), std::size_t{0})
            : static_cast<std::size_t>(data.max_seq_length) *
                  static_cast<std::size_t>(data.batch_size);
    return vectors * static_cast<std::size_t>(data.vector_size);
}

std::size_t first_element(const DataDescriptor &data) {
    const auto width = static_cast<std::size_t>(data.vector_size);
    std::size_t first = sequence_elements(data);
    for_each_vector(data, [&](std::size_t, std::size_t at, bool there) {
        if (there) first = std::min(first, at * width);
    });
    return first;
}

namespace {

std::vector<double> gather(const DataDescriptor &data, const void *tensor, bool existing) {
    const auto width = static_cast<std::size_t>(data.vector_size);
    const std::size_t bytes = width * element_bytes(data.data_type);
    std::vector<double> made(static_cast<std::size_t>(data.max_seq_length) *
                             static_cast<std::size_t>(data.batch_size) * width);
    for_each_vector(data, [&](std::size_t place, std::size_t at, bool there) {
        if (there == existing)
            load(data.data_type, static_cast<const char *>(tensor) + at * bytes, width,
                 made.data() + place * width);
    });
    return made;
}

} // namespace

std::vector<double> gather(const DataDescriptor &data, const void *tensor) {
    return gather(data, tensor, true);
}

std::vector<double> gather_padding(const DataDescriptor &data, const void *tensor) {
    return gather(data, tensor, false);
}

void scatter(const DataDescriptor &data, const std::vector<double> &steps, void *tensor) {
    const auto width = static_cast<std::size_t>(data.vector_size);
    const std::size_t bytes = width * element_bytes(data.data_type);
    for_each_vector(data, [&](std::size_t place, std::size_t at, bool there) {
        if (there)
            store(data.data_type, steps.data() + place * width, width,
                  static_cast<char *>(tensor) + at * bytes);
    });
}

void fill_padding(const DataDescriptor &data, void *tensor) {
    if (data.padding_fill.empty()) return;
    const std::size_t element = data.padding_fill.size();
    const auto width = static_cast<std::size_t>(data.vector_size);
    for_each_vector(data, [&](std::size_t, std::size_t at, bool there) {
        for (std::size_t i = 0; !there && i < width; ++i)
            std::memcpy(static_cast<char *>(tensor) + (at * width + i) * element,
                        data.padding_fill.data(), element);
    });
}

} // namespace emulator
