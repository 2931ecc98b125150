#include "cudnn_sizes.hpp"
#include "cudnn_call.hpp"
#include "cudnn_handle.hpp"
#include "cudnn_reserve.hpp"
#include "cudnn_types.hpp"

#include <algorithm>

namespace emulator {

namespace {

constexpr abi::Enum kStandard = 0;                 // cudnnRNNAlgo_t
constexpr abi::Enum kBatchMajorUnpacked = 2;       // cudnnRNNDataLayout_t
constexpr abi::Enum kInference = 0, kTraining = 1; // cudnnForwardMode_t

std::size_t rounded(std::size_t bytes) { return (bytes + 255) / 256 * 256; }

// A product that may be larger than any space.
double product(std::initializer_list<double> factors) {
    double value = 1;
    for (const double factor : factors)
        value *= factor;
    return value;
}

void check_size(double bytes) {
    refuse_if(bytes > 0x1p60, "NOT_SUPPORTED", "the space is larger than can be addressed");
}

} // namespace

void check_network(const RnnDescriptor &rnn) {
    refuse_if(rnn.input_mode == 1 && rnn.input_size != rnn.hidden_size, "BAD_PARAM",
              "skip_input && inputSize != hiddenSize");
}

std::size_t weight_space_bytes(const RnnDescriptor &rnn) {
    const Network network = rnn.network();
    const double widest = std::max({rnn.input_size, rnn.hidden_size * network.directions});
    check_size(product({8.0 * network.gates(), static_cast<double>(network.num_layers),
                        static_cast<double>(network.directions),
                        static_cast<double>(rnn.hidden_size), 2 * widest + 4}));
    return rounded(weight_count(network) * element_bytes(rnn.data_type));
}

// A formula of the emulator's own. It depends on everything that the real one is said to depend
// on, and is not monotonic in batch_size: a batch that is no multiple of 32 is done in more parts
// at once.
TempSpace temp_space(const RnnDescriptor &rnn, bool training, const DataDescriptor &x) {
    const Network network = rnn.network();
    const auto steps = static_cast<std::size_t>(x.max_seq_length);
    const auto batch = static_cast<std::size_t>(x.batch_size);
    check_size(product({8.0 * 32, static_cast<double>(network.num_layers),
                        static_cast<double>(network.directions), static_cast<double>(steps),
                        static_cast<double>(batch),
                        static_cast<double>(rnn.hidden_size) + rnn.input_size}));
    const std::size_t element = element_bytes(rnn.data_type);
    const std::size_t parts = batch % 32 == 0 ? 1 : batch % 8 == 0 ? 2 : 4;
    const std::size_t state = element * static_cast<std::size_t>(rnn.hidden_size) * batch *
                              static_cast<std::size_t>(network.directions);
    const std::size_t gates = state * static_cast<std::size_t>(network.gates());
    std::size_t workspace = gates * parts;
    workspace += rnn.algo == kStandard ? gates * std::min<std::size_t>(steps, 16) : 2 * state;
    if (x.layout == kBatchMajorUnpacked)
        workspace += element * steps * batch * static_cast<std::size_t>(rnn.input_size);
    if (!training) return {rounded(workspace), 0};
    workspace += state;
    const Batch full{x.max_seq_length, x.batch_size, std::vector<int>(batch, x.max_seq_length)};
    const std::size_t tape = tape_count(network, full) * sizeof(double);
    return {rounded(workspace),
            rounded(kStampBytes + tape + (rnn.algo == kStandard ? state : 2 * state) * parts)};
}

std::string sized_for(const RnnDescriptor &rnn, const DataDescriptor &x) {
    return rnn.key() + std::to_string(x.layout) + ' ' + std::to_string(x.max_seq_length) + ' ' +
           std::to_string(x.batch_size);
}

} // namespace emulator

using namespace emulator;

abi::Status cudnnGetRNNWeightSpaceSize(abi::Handle handle, abi::Descriptor rnn,
                                       std::size_t *bytes) {
    return call("cudnnGetRNNWeightSpaceSize", [&](const Faults &) {
        refuse_if(handle == nullptr || rnn == nullptr || bytes == nullptr, "BAD_PARAM",
                  "!handle || !rnnDesc || !weightSpaceSize");
        state_of(handle);
        const RnnDescriptor read = read_rnn(rnn);
        check_network(read);
        *bytes = weight_space_bytes(read);
    });
}

abi::Status cudnnGetRNNTempSpaceSizes(abi::Handle handle, abi::Descriptor rnn,
                                      abi::Enum forward_mode, abi::Descriptor x,
                                      std::size_t *workspace_bytes,
                                      std::size_t *reserve_space_bytes) {
    return call("cudnnGetRNNTempSpaceSizes", [&](const Faults &) {
        state_of(handle);
        refuse_if(forward_mode != kInference && forward_mode != kTraining, "BAD_PARAM",
                  "fMode is no forward mode");
        const RnnDescriptor read = read_rnn(rnn);
        check_network(read);
        const DataDescriptor data = read_data(x, "xDesc");
        const TempSpace space = temp_space(read, forward_mode == kTraining, data);
        if (workspace_bytes != nullptr) *workspace_bytes = space.workspace_bytes;
        if (reserve_space_bytes != nullptr) *reserve_space_bytes = space.reserve_space_bytes;
        rnn_uses().change(rnn,
                          [&](RnnUse &use) { use.sized[forward_mode] = sized_for(read, data); });
    });
}
