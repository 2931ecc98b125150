#include "cudnn_descriptors.hpp"
#include "cudnn_real.hpp"
#include "cudnn_refusal.hpp"
#include "cudnn_types.hpp"

namespace emulator {

namespace {

// As many dimensions as a tensor can have.
constexpr int kMostDims = 8;

template <class Field> void append(std::string &key, Field field) {
    key.append(reinterpret_cast<const char *>(&field), sizeof(field));
}

void must_exist(const char *kind, abi::Descriptor object, const char *role) {
    refuse_if(object == nullptr, "BAD_PARAM", std::string(role) + " == NULL");
    forbid_if(!exists(kind, object), std::string(role) + " is no " + kind + ", or destroyed");
}

} // namespace

Memory<RnnUse> &rnn_uses() {
    static Memory<RnnUse> memory;
    return memory;
}
Memory<bool> &filled() {
    static Memory<bool> memory;
    return memory;
}
Memory<bool> &absent() {
    static Memory<bool> memory;
    return memory;
}
Memory<Dropout> &dropouts() {
    static Memory<Dropout> memory;
    return memory;
}

Network RnnDescriptor::network() const {
    Network made;
    made.cell = static_cast<Cell>(cell_mode);
    made.bias = static_cast<Bias>(bias_mode);
    made.directions = directions();
    made.skip_input = input_mode == 1;
    made.input_size = input_size;
    made.hidden_size = hidden_size;
    made.proj_size = proj_size;
    made.num_layers = num_layers;
    made.clips = clip_mode == 1;
    made.clip_propagates_nan = clip_nan_opt == 1;
    made.lclip = lclip;
    made.rclip = rclip;
    return made;
}

std::string RnnDescriptor::key() const {
    std::string made;
    for (const auto field : {algo, cell_mode, bias_mode, direction_mode, input_mode, data_type,
                             math_prec, math_type, input_size, hidden_size, proj_size, num_layers,
                             static_cast<int>(aux_flags), clip_mode, clip_nan_opt})
        append(made, field);
    append(made, lclip);
    append(made, rclip);
    return made;
}

std::string DataDescriptor::key() const {
    std::string made;
    for (const int field : {data_type, layout, max_seq_length, batch_size})
        append(made, field);
    for (const int length : seq_lengths)
        append(made, length);
    return made;
}

RnnDescriptor read_rnn(abi::Descriptor rnn) {
    must_exist(kRnnKind, rnn, "rnnDesc");
    RnnDescriptor d{};
    const abi::Status status = real().cudnnGetRNNDescriptor_v8(
        rnn, &d.algo, &d.cell_mode, &d.bias_mode, &d.direction_mode, &d.input_mode, &d.data_type,
        &d.math_prec, &d.math_type, &d.input_size, &d.hidden_size, &d.proj_size, &d.num_layers,
        &d.dropout, &d.aux_flags);
    refuse_if(status != abi::kSuccess || d.input_size == 0, "BAD_PARAM", "rnnDesc was never set");
    real().cudnnRNNGetClip_v8(rnn, &d.clip_mode, &d.clip_nan_opt, &d.lclip, &d.rclip);
    return d;
}

DataDescriptor read_data(abi::Descriptor data, const char *role) {
    must_exist(kDataKind, data, role);
    DataDescriptor d{};
    unsigned char fill[16] = {};
    abi::Status status =
        real().cudnnGetRNNDataDescriptor(data, &d.data_type, &d.layout, &d.max_seq_length,
                                         &d.batch_size, &d.vector_size, 0, nullptr, fill);
    refuse_if(status != abi::kSuccess || d.batch_size <= 0, "BAD_PARAM",
              std::string(role) + " was never set");
    d.seq_lengths.resize(static_cast<std::size_t>(d.batch_size));
    status = real().cudnnGetRNNDataDescriptor(data, &d.data_type, &d.layout, &d.max_seq_length,
                                              &d.batch_size, &d.vector_size, d.batch_size,
                                              d.seq_lengths.data(), fill);
    refuse_if(status != abi::kSuccess, "BAD_PARAM", std::string(role) + " cannot be read");
    if (filled().get(data)) d.padding_fill.assign(fill, fill + element_bytes(d.data_type));
    return d;
}

TensorDescriptor read_tensor(abi::Descriptor tensor, const char *role) {
    must_exist(kTensorKind, tensor, role);
    TensorDescriptor d{};
    d.dims.resize(kMostDims);
    d.strides.resize(kMostDims);
    int count = 0;
    const abi::Status status = real().cudnnGetTensorNdDescriptor(
        tensor, kMostDims, &d.data_type, &count, d.dims.data(), d.strides.data());
    refuse_if(status != abi::kSuccess || count == 0 || absent().get(tensor), "BAD_PARAM",
              std::string(role) + " was never set");
    d.dims.resize(static_cast<std::size_t>(count));
    d.strides.resize(static_cast<std::size_t>(count));
    return d;
}

Dropout read_dropout(abi::Descriptor dropout) {
    if (dropout == nullptr) return {};
    forbid_if(!exists(kDropoutKind, dropout), "the dropout descriptor of rnnDesc was destroyed");
    return dropouts().get(dropout);
}

} // namespace emulator
