// The calls that the real library answers without a GPU: handed over to it, objects counted.
#include "cudnn_call.hpp"
#include "cudnn_descriptors.hpp"
#include "cudnn_real.hpp"

using namespace emulator;

namespace {

abi::Status create(const char *function, const char *kind, abi::Status (*to)(abi::Descriptor *),
                   abi::Descriptor *object) {
    const abi::Status status = forward_call(function, to, object);
    if (status == abi::kSuccess) created(kind, *object);
    return status;
}

template <class Value>
abi::Status destroy(const char *function, const char *kind, abi::Status (*to)(abi::Descriptor),
                    abi::Descriptor object, Memory<Value> &memory) {
    const Faults faults(function);
    if (faults.status()) return *faults.status();
    if (object != nullptr && !destroyed(function, kind, object))
        return tell(function, {"BAD_PARAM", std::string("this is no ") + kind});
    memory.forget(object);
    return to(object);
}

// A call on an object: what was destroyed is not handed over.
template <class... Parameters, class... Arguments>
abi::Status use(const char *function, const char *kind, abi::Descriptor object,
                abi::Status (*to)(abi::Descriptor, Parameters...), Arguments... arguments) {
    if (object != nullptr && !exists(kind, object))
        return tell(function,
                    {"BAD_PARAM", std::string("this is no ") + kind + ", or destroyed", true});
    return forward_call(function, to, object, arguments...);
}

abi::Status set_clip_v8(abi::Descriptor rnn, abi::Enum mode, abi::Enum nan_opt, double lclip,
                        double rclip) {
    return use("cudnnRNNSetClip_v8", kRnnKind, rnn, real().cudnnRNNSetClip_v8, mode, nan_opt, lclip,
               rclip);
}

abi::Status set_clip_v9(abi::Descriptor rnn, abi::Enum mode, double lclip, double rclip) {
    return use("cudnnRNNSetClip_v9", kRnnKind, rnn, real().cudnnRNNSetClip_v9, mode, lclip, rclip);
}

} // namespace

// As with cudnnGetLastErrorString: dlsym finds them only where the real release has them.
extern "C" {
static abi::cudnnRNNSetClip_v8 *find_clip_v8() {
    return real().cudnnRNNSetClip_v8 != nullptr ? set_clip_v8 : nullptr;
}
static abi::cudnnRNNSetClip_v9 *find_clip_v9() {
    return real().cudnnRNNSetClip_v9 != nullptr ? set_clip_v9 : nullptr;
}
abi::Status cudnnRNNSetClip_v8(abi::Descriptor, abi::Enum, abi::Enum, double, double)
    __attribute__((ifunc("find_clip_v8")));
abi::Status cudnnRNNSetClip_v9(abi::Descriptor, abi::Enum, double, double)
    __attribute__((ifunc("find_clip_v9")));
}

std::size_t cudnnGetVersion() {
    enter("cudnnGetVersion");
    return real().cudnnGetVersion();
}

const char *cudnnGetErrorString(abi::Status status) {
    enter("cudnnGetErrorString");
    return real().cudnnGetErrorString(status);
}

abi::Status cudnnCreateRNNDescriptor(abi::Descriptor *rnn) {
    return create("cudnnCreateRNNDescriptor", kRnnKind, real().cudnnCreateRNNDescriptor, rnn);
}

abi::Status cudnnDestroyRNNDescriptor(abi::Descriptor rnn) {
    return destroy("cudnnDestroyRNNDescriptor", kRnnKind, real().cudnnDestroyRNNDescriptor, rnn,
                   rnn_uses());
}

abi::Status cudnnSetRNNDescriptor_v8(abi::Descriptor rnn, abi::Enum algo, abi::Enum cell_mode,
                                     abi::Enum bias_mode, abi::Enum direction_mode,
                                     abi::Enum input_mode, abi::Enum data_type, abi::Enum math_prec,
                                     abi::Enum math_type, std::int32_t input_size,
                                     std::int32_t hidden_size, std::int32_t proj_size,
                                     std::int32_t num_layers, abi::Descriptor dropout,
                                     std::uint32_t aux_flags) {
    return use("cudnnSetRNNDescriptor_v8", kRnnKind, rnn, real().cudnnSetRNNDescriptor_v8, algo,
               cell_mode, bias_mode, direction_mode, input_mode, data_type, math_prec, math_type,
               input_size, hidden_size, proj_size, num_layers, dropout, aux_flags);
}

abi::Status cudnnGetRNNDescriptor_v8(abi::Descriptor rnn, abi::Enum *algo, abi::Enum *cell_mode,
                                     abi::Enum *bias_mode, abi::Enum *direction_mode,
                                     abi::Enum *input_mode, abi::Enum *data_type,
                                     abi::Enum *math_prec, abi::Enum *math_type,
                                     std::int32_t *input_size, std::int32_t *hidden_size,
                                     std::int32_t *proj_size, std::int32_t *num_layers,
                                     abi::Descriptor *dropout, std::uint32_t *aux_flags) {
    return use("cudnnGetRNNDescriptor_v8", kRnnKind, rnn, real().cudnnGetRNNDescriptor_v8, algo,
               cell_mode, bias_mode, direction_mode, input_mode, data_type, math_prec, math_type,
               input_size, hidden_size, proj_size, num_layers, dropout, aux_flags);
}

abi::Status cudnnCreateRNNDataDescriptor(abi::Descriptor *data) {
    return create("cudnnCreateRNNDataDescriptor", kDataKind, real().cudnnCreateRNNDataDescriptor,
                  data);
}

abi::Status cudnnDestroyRNNDataDescriptor(abi::Descriptor data) {
    return destroy("cudnnDestroyRNNDataDescriptor", kDataKind, real().cudnnDestroyRNNDataDescriptor,
                   data, filled());
}

abi::Status cudnnSetRNNDataDescriptor(abi::Descriptor data, abi::Enum data_type, abi::Enum layout,
                                      int max_seq_length, int batch_size, int vector_size,
                                      const int *seq_lengths, void *padding_fill) {
    const abi::Status status =
        use("cudnnSetRNNDataDescriptor", kDataKind, data, real().cudnnSetRNNDataDescriptor,
            data_type, layout, max_seq_length, batch_size, vector_size, seq_lengths, padding_fill);
    if (status == abi::kSuccess)
        filled().change(data, [&](bool &given) { given = padding_fill != nullptr; });
    return status;
}

abi::Status cudnnGetRNNDataDescriptor(abi::Descriptor data, abi::Enum *data_type, abi::Enum *layout,
                                      int *max_seq_length, int *batch_size, int *vector_size,
                                      int lengths_wanted, int *seq_lengths, void *padding_fill) {
    return use("cudnnGetRNNDataDescriptor", kDataKind, data, real().cudnnGetRNNDataDescriptor,
               data_type, layout, max_seq_length, batch_size, vector_size, lengths_wanted,
               seq_lengths, padding_fill);
}

abi::Status cudnnCreateTensorDescriptor(abi::Descriptor *tensor) {
    return create("cudnnCreateTensorDescriptor", kTensorKind, real().cudnnCreateTensorDescriptor,
                  tensor);
}

abi::Status cudnnDestroyTensorDescriptor(abi::Descriptor tensor) {
    return destroy("cudnnDestroyTensorDescriptor", kTensorKind, real().cudnnDestroyTensorDescriptor,
                   tensor, absent());
}

abi::Status cudnnSetTensorNdDescriptor(abi::Descriptor tensor, abi::Enum data_type, int nb_dims,
                                       const int *dims, const int *strides) {
    const abi::Status status =
        use("cudnnSetTensorNdDescriptor", kTensorKind, tensor, real().cudnnSetTensorNdDescriptor,
            data_type, nb_dims, dims, strides);
    if (status == abi::kSuccess) absent().forget(tensor);
    return status;
}

abi::Status cudnnGetTensorNdDescriptor(abi::Descriptor tensor, int dims_wanted,
                                       abi::Enum *data_type, int *nb_dims, int *dims,
                                       int *strides) {
    const abi::Status status =
        use("cudnnGetTensorNdDescriptor", kTensorKind, tensor, real().cudnnGetTensorNdDescriptor,
            dims_wanted, data_type, nb_dims, dims, strides);
    if (status == abi::kSuccess && nb_dims != nullptr && absent().get(tensor)) *nb_dims = 0;
    return status;
}

abi::Status cudnnCreateDropoutDescriptor(abi::Descriptor *dropout) {
    return create("cudnnCreateDropoutDescriptor", kDropoutKind, real().cudnnCreateDropoutDescriptor,
                  dropout);
}

abi::Status cudnnDestroyDropoutDescriptor(abi::Descriptor dropout) {
    return destroy("cudnnDestroyDropoutDescriptor", kDropoutKind,
                   real().cudnnDestroyDropoutDescriptor, dropout, dropouts());
}
