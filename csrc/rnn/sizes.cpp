#include "rnn/sizes.hpp"

#include "rnn/fill.hpp"

#include <algorithm>
#include <limits>

namespace pyharness {

namespace {

std::size_t times(std::size_t a, std::size_t b) {
    constexpr std::size_t kMost = std::numeric_limits<std::size_t>::max();
    return a != 0 && b > kMost / a ? kMost : a * b;
}

std::size_t size(int value) { return static_cast<std::size_t>(std::max(value, 0)); }

} // namespace

bool ask_sizes(Handle &handle, const Descriptors &descriptors, Sizes &sizes) {
    Calls &calls = handle.calls();
    return PYHARNESS_CUDNN(calls, cudnnGetRNNWeightSpaceSize)(handle.get(), descriptors.rnn,
                                                              &sizes.weight_space) &&
           PYHARNESS_CUDNN(calls, cudnnGetRNNTempSpaceSizes)(
               handle.get(), descriptors.rnn, kInference, descriptors.x, &sizes.inference_workspace,
               &sizes.inference_reserve_space) &&
           PYHARNESS_CUDNN(calls, cudnnGetRNNTempSpaceSizes)(
               handle.get(), descriptors.rnn, kTraining, descriptors.x, &sizes.training_workspace,
               &sizes.reserve_space);
}

std::size_t data_elements(const Settings &settings, int vector_size) {
    std::size_t steps = 0;
    if (settings.layout == kSeqMajorPacked) {
        for (std::size_t i = 0; i < size(settings.batch_size); ++i)
            steps += size(settings.seq_lengths[i]);
    } else steps = times(size(settings.max_seq_length), size(settings.batch_size));
    return times(steps, size(vector_size));
}

std::vector<std::pair<std::string, std::size_t>> tensor_bytes(const Settings &s) {
    const std::size_t element = element_bytes(s.data_type);
    const auto directions = static_cast<std::size_t>(s.directions());
    const std::size_t x = times(data_elements(s, s.x_vector_size), element);
    const std::size_t y = times(times(data_elements(s, s.proj_size), directions), element);
    const std::size_t rows =
        times(times(size(s.num_layers), directions), times(size(s.batch_size), element));
    const std::size_t h = times(rows, size(s.proj_size)), c = times(rows, size(s.hidden_size));
    std::vector<std::pair<std::string, std::size_t>> bytes = {
        {"x", x}, {"y", y}, {"hx", h}, {"hy", h}, {"dx", x}, {"dy", y}, {"dhx", h}, {"dhy", h}};
    if (s.has_cell_state())
        for (const char *name : {"cx", "cy", "dcx", "dcy"})
            bytes.emplace_back(name, c);
    return bytes;
}

} // namespace pyharness
