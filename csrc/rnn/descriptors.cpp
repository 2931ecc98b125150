#include "rnn/descriptors.hpp"

#include "calls/values.hpp"

namespace pyharness {

// Both names of a kind of descriptor and their functions.
#define PYHARNESS_KIND(kind)                                                                       \
    "cudnnCreate" #kind, handle_.calls().api().cudnnCreate##kind, "cudnnDestroy" #kind,            \
        handle_.calls().api().cudnnDestroy##kind

bool Descriptors::create(const char *name, Create *make, const char *destroy_name, Destroy *end,
                         abi::Descriptor &descriptor) {
    made_.reserve(made_.size() + 1); // what is made is kept, whatever happens
    if (!handle_.calls().kept(name, make)(&descriptor)) {
        descriptor = nullptr;
        return false;
    }
    made_.push_back({descriptor, destroy_name, end});
    return true;
}

bool Descriptors::make_dropout() { return create(PYHARNESS_KIND(DropoutDescriptor), dropout); }

bool Descriptors::dropout_states_bytes(std::size_t &bytes) {
    return PYHARNESS_CUDNN(handle_.calls(), cudnnDropoutGetStatesSize)(handle_.get(), &bytes);
}

bool Descriptors::set_dropout(const Settings &settings, abi::CuPointer states, std::size_t bytes) {
    return PYHARNESS_CUDNN(handle_.calls(), cudnnSetDropoutDescriptor)(
        dropout, handle_.get(), settings.dropout_rate, reinterpret_cast<void *>(states), bytes,
        settings.seed);
}

bool Descriptors::make_rnn(const Settings &s) {
    return create(PYHARNESS_KIND(RNNDescriptor), rnn) &&
           PYHARNESS_CUDNN(handle_.calls(), cudnnSetRNNDescriptor_v8)(
               rnn, s.algo, s.cell_mode, s.bias_mode, s.direction_mode, s.input_mode, s.data_type,
               s.math_prec, s.math_type, s.input_size, s.hidden_size, s.proj_size, s.num_layers,
               dropout, s.aux_flags) &&
           (!s.clip || clip(s));
}

bool Descriptors::clip(const Settings &s) {
    Calls &calls = handle_.calls();
    if (calls.api().cudnnRNNSetClip_v9 != nullptr)
        return PYHARNESS_CUDNN(calls, cudnnRNNSetClip_v9)(rnn, s.clip_mode, s.lclip, s.rclip);
    return PYHARNESS_CUDNN(calls, cudnnRNNSetClip_v8)(rnn, s.clip_mode, s.clip_nan_opt, s.lclip,
                                                      s.rclip);
}

bool Descriptors::make_data(const Settings &settings) {
    const int width = clamp_int(std::int64_t{settings.proj_size} * settings.directions());
    return set_data(settings, x, settings.x_vector_size) && set_data(settings, y, width);
}

bool Descriptors::set_data(const Settings &s, abi::Descriptor &data, int vector_size) {
    double fill = 0; // as wide as the widest data type
    return create(PYHARNESS_KIND(RNNDataDescriptor), data) &&
           PYHARNESS_CUDNN(handle_.calls(), cudnnSetRNNDataDescriptor)(
               data, s.data_type, s.layout, s.max_seq_length, s.batch_size, vector_size,
               s.seq_lengths.data(), s.padding_fill ? &fill : nullptr);
}

bool Descriptors::make_states(const Settings &settings) {
    return set_state(settings, h, settings.proj_size) &&
           (!settings.has_cell_state() || set_state(settings, c, settings.hidden_size));
}

bool Descriptors::set_state(const Settings &s, abi::Descriptor &state, int width) {
    const int dims[] = {clamp_int(std::int64_t{s.num_layers} * s.directions()), s.batch_size,
                        width};
    const int strides[] = {clamp_int(std::int64_t{s.batch_size} * width), width, 1};
    return create(PYHARNESS_KIND(TensorDescriptor), state) &&
           PYHARNESS_CUDNN(handle_.calls(), cudnnSetTensorNdDescriptor)(state, s.data_type, 3, dims,
                                                                        strides);
}

bool Descriptors::make_parts() {
    return create(PYHARNESS_KIND(TensorDescriptor), matrix) &&
           create(PYHARNESS_KIND(TensorDescriptor), bias);
}

std::optional<CallRecord> Descriptors::destroy() noexcept {
    std::optional<CallRecord> refused;
    for (; !made_.empty(); made_.pop_back()) {
        const Made &last = made_.back();
        handle_.calls().trace().call(last.destroy_name);
        const abi::Status status = last.destroy(last.descriptor);
        if (status != abi::kSuccess && !refused) refused = {last.destroy_name, status, ""};
    }
    return refused;
}

} // namespace pyharness
