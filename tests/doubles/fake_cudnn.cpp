// A small library with cuDNN's symbols: it accepts by rules that tests/doubles/rules.py knows too,
// and misbehaves on command, so that a test knows what must come out and which row is to blame.
//
// Built with one compiler call, see tests/doubles/build.py. Variants: WITHOUT_OPTIONAL,
// WITHOUT_REQUIRED, UNLOADABLE, DIES_ON_LOAD. Environment:
// - FAKE_CUDNN_VERSION: what cudnnGetVersion says (91300); below 90000 the old status numbers
// - FAKE_CUDNN_TAME: no misbehaviour by argument value
// - FAKE_CUDNN_LOG: a file that gets one line for every call that sets something
// - FAKE_CUDNN_ECHO: the function that refuses all and gives its arguments as the reason
// - FAKE_CUDNN_SILENT: the callback is never called, reasons only by cudnnGetLastErrorString
// - FAKE_CUDNN_ABORT_IN: the function that aborts the process
// - FAKE_CUDNN_SLOW_IN: the function that takes two seconds
// - FAKE_CUDNN_LIFE: so many descriptors may be set in one process; the next aborts
#include "abi/functions.hpp"
#include "fake_faults.hpp"

#include <cmath>
#include <type_traits>
#include <vector>

using namespace fake;

namespace {

struct Rnn {
    int enums[8];
    std::int32_t sizes[4];
    Descriptor dropout;
    std::uint32_t aux_flags;
    bool forgets;
};
struct Data {
    int numbers[5]; // data type, layout, max_seq_length, batch_size, vector_size
    std::vector<int> lengths;
};
struct Tensor {
    int data_type;
    std::vector<int> dims, strides;
};

} // namespace

extern "C" {

std::size_t cudnnGetVersion() {
    maybe_abort("cudnnGetVersion");
    return version();
}

const char *cudnnGetErrorString(Status status) {
    maybe_abort("cudnnGetErrorString");
    if (status == kSuccess) return "CUDNN_STATUS_SUCCESS";
    if (status == bad_param()) return "CUDNN_STATUS_BAD_PARAM";
    if (status == not_supported()) return "CUDNN_STATUS_NOT_SUPPORTED";
    return status < 0 ? nullptr : "no such status";
}

Status cudnnSetCallback(unsigned mask, void *data, Callback function) {
    callback = (mask & (kErrorEnabled | kWarningEnabled)) != 0 ? function : nullptr;
    callback_data = data;
    last_error = "an old text that nobody has read"; // 9.x shows such a one to whoever asks next
    return kSuccess;
}

#ifndef WITHOUT_OPTIONAL
void cudnnGetLastErrorString(char *text, std::size_t size) {
    maybe_abort("cudnnGetLastErrorString");
    std::snprintf(text, size, "%s", last_error.c_str());
    last_error.clear();
}
#endif

Status cudnnCreateRNNDescriptor(Descriptor *made) {
    maybe_abort("cudnnCreateRNNDescriptor");
    maybe_linger("cudnnCreateRNNDescriptor");
    *made = new Rnn{};
    return kSuccess;
}
Status cudnnDestroyRNNDescriptor(Descriptor rnn) {
    delete static_cast<Rnn *>(rnn);
    return kSuccess;
}

Status cudnnSetRNNDescriptor_v8(Descriptor descriptor, Enum algo, Enum cell_mode, Enum bias_mode,
                                Enum direction_mode, Enum input_mode, Enum data_type,
                                Enum math_prec, Enum math_type, std::int32_t input_size,
                                std::int32_t hidden_size, std::int32_t proj_size,
                                std::int32_t num_layers, Descriptor dropout,
                                std::uint32_t aux_flags) {
    const char *const name = "cudnnSetRNNDescriptor_v8";
    maybe_abort(name);
    static const char *const life = setting("FAKE_CUDNN_LIFE");
    static long left = life != nullptr ? std::atol(life) : -1;
    if (left == 0) std::abort();
    if (left > 0) --left;
    Rnn &rnn = *static_cast<Rnn *>(descriptor);
    rnn = {
        {algo, cell_mode, bias_mode, direction_mode, input_mode, data_type, math_prec, math_type},
        {input_size, hidden_size, proj_size, num_layers},
        dropout,
        aux_flags,
        false};
    const std::string arguments = list(rnn.enums, 8) + ',' + list(rnn.sizes, 4) + ',' +
                                  (dropout != nullptr ? "1," : "0,") + std::to_string(aux_flags);
    log_call(name, arguments);
    if (echoes(name)) return refuse(bad_param(), name, arguments);
    Status answer = kSuccess;
    if (misbehaves(algo, hidden_size, num_layers, rnn.forgets, answer)) return answer;
    if (hidden_size < 1) return refuse(bad_param(), name, "hiddenSize < 1");
    if (aux_flags > 1) return refuse(bad_param(), name, "auxFlags > 1");
    if (num_layers < 1)
        return refuse(bad_param(), name, "numLayers < 1 with algo " + std::to_string(algo));
    if (proj_size > hidden_size) return refuse(not_supported(), name, "projSize > hiddenSize");
    if (proj_size < hidden_size && cell_mode != 2)
        return refuse(not_supported(), name, "projection without LSTM");
    if (data_type == 1 && (algo == 1 || algo == 3)) return refuse(not_supported(), name, "");
    return kSuccess;
}

Status cudnnGetRNNDescriptor_v8(Descriptor descriptor, Enum *algo, Enum *cell_mode, Enum *bias_mode,
                                Enum *direction_mode, Enum *input_mode, Enum *data_type,
                                Enum *math_prec, Enum *math_type, std::int32_t *input_size,
                                std::int32_t *hidden_size, std::int32_t *proj_size,
                                std::int32_t *num_layers, Descriptor *dropout,
                                std::uint32_t *aux_flags) {
    const Rnn &rnn = *static_cast<Rnn *>(descriptor);
    Enum *const enums[] = {algo,       cell_mode, bias_mode, direction_mode,
                           input_mode, data_type, math_prec, math_type};
    for (int i = 0; i < 8; ++i)
        *enums[i] = rnn.enums[i];
    *input_size = rnn.sizes[0];
    *hidden_size = rnn.sizes[1] + (rnn.forgets ? 1 : 0);
    *proj_size = rnn.sizes[2];
    *num_layers = rnn.sizes[3];
    *dropout = rnn.dropout;
    *aux_flags = rnn.aux_flags;
    return kSuccess;
}

} // extern "C"

namespace {

Status clip(const char *name, Descriptor descriptor, Enum mode, int nan_opt, double lclip,
            double rclip) {
    char arguments[128];
    std::snprintf(arguments, sizeof(arguments), "%d,%d,%d,%a,%a",
                  static_cast<Rnn *>(descriptor)->enums[1], mode, nan_opt, lclip, rclip);
    log_call(name, arguments);
    if (echoes(name)) return refuse(bad_param(), name, arguments);
    if (mode != 0 && mode != 1) return refuse(bad_param(), name, "clipMode is no mode");
    if (std::isnan(lclip) || std::isnan(rclip)) return refuse(bad_param(), name, "clip is NaN");
    if (lclip > rclip) return refuse(not_supported(), name, "lclip > rclip");
    return kSuccess;
}

} // namespace

extern "C" {

Status cudnnRNNSetClip_v8(Descriptor rnn, Enum mode, Enum nan_opt, double lclip, double rclip) {
    return clip("cudnnRNNSetClip_v8", rnn, mode, nan_opt, lclip, rclip);
}
#ifndef WITHOUT_OPTIONAL
Status cudnnRNNSetClip_v9(Descriptor rnn, Enum mode, double lclip, double rclip) {
    return clip("cudnnRNNSetClip_v9", rnn, mode, -1, lclip, rclip);
}
#endif

Status cudnnCreateRNNDataDescriptor(Descriptor *made) {
    *made = new Data{};
    return kSuccess;
}
Status cudnnDestroyRNNDataDescriptor(Descriptor data) {
    delete static_cast<Data *>(data);
    return kSuccess;
}

Status cudnnSetRNNDataDescriptor(Descriptor descriptor, Enum data_type, Enum layout,
                                 int max_seq_length, int batch_size, int vector_size,
                                 const int *seq_lengths, void *padding_fill) {
    const char *const name = "cudnnSetRNNDataDescriptor";
    const int count = batch_size > 0 ? batch_size : 0;
    Data &data = *static_cast<Data *>(descriptor);
    data = {{data_type, layout, max_seq_length, batch_size, vector_size},
            {seq_lengths, seq_lengths + count}};
    const std::string arguments = list(data.numbers, 5) + ',' +
                                  (padding_fill != nullptr ? "1," : "0,") +
                                  list(seq_lengths, count);
    log_call(name, arguments);
    if (echoes(name)) return refuse(bad_param(), name, arguments);
    if (max_seq_length < 1) return refuse(bad_param(), name, "maxSeqLength < 1");
    if (batch_size < 1) return refuse(bad_param(), name, "batchSize < 1");
    bool sorted = true;
    for (int i = 0; i < count; ++i) {
        if (seq_lengths[i] > max_seq_length)
            return refuse(bad_param(), name, "seqLength > maxSeqLength");
        if (seq_lengths[i] < 0) return refuse(bad_param(), name, "seqLength < 0");
        sorted = sorted && (i == 0 || seq_lengths[i - 1] >= seq_lengths[i]);
    }
    if (layout == 1 && !sorted) return refuse(not_supported(), name, "isSortedSequences == false");
    return kSuccess;
}

Status cudnnGetRNNDataDescriptor(Descriptor descriptor, Enum *data_type, Enum *layout,
                                 int *max_seq_length, int *batch_size, int *vector_size,
                                 int requested, int *seq_lengths, void *) {
    const Data &data = *static_cast<Data *>(descriptor);
    int *const numbers[] = {data_type, layout, max_seq_length, batch_size, vector_size};
    for (int i = 0; i < 5; ++i)
        *numbers[i] = data.numbers[i];
    for (int i = 0; i < requested && i < data.numbers[3]; ++i)
        seq_lengths[i] = data.lengths[static_cast<std::size_t>(i)];
    return kSuccess;
}

Status cudnnCreateTensorDescriptor(Descriptor *made) {
    *made = new Tensor{};
    return kSuccess;
}
Status cudnnDestroyTensorDescriptor(Descriptor tensor) {
    delete static_cast<Tensor *>(tensor);
    return kSuccess;
}

Status cudnnSetTensorNdDescriptor(Descriptor descriptor, Enum data_type, int nb_dims,
                                  const int *dims, const int *strides) {
    const char *const name = "cudnnSetTensorNdDescriptor";
    const int count = nb_dims > 0 ? nb_dims : 0;
    *static_cast<Tensor *>(descriptor) = {
        data_type, {dims, dims + count}, {strides, strides + count}};
    const std::string arguments = std::to_string(data_type) + ',' + std::to_string(nb_dims) + ';' +
                                  list(dims, count) + ';' + list(strides, count);
    log_call(name, arguments);
    if (echoes(name)) return refuse(bad_param(), name, arguments);
    if (nb_dims < 3 || nb_dims > 8) return refuse(bad_param(), name, "nbDims out of range");
    for (int i = 0; i < count; ++i)
        if (dims[i] < 1) return refuse(bad_param(), name, "dim < 1");
    for (int i = 0; i < count; ++i)
        if (strides[i] < 1) return refuse(not_supported(), name, "stride < 1");
    return kSuccess;
}

Status cudnnGetTensorNdDescriptor(Descriptor descriptor, int requested, Enum *data_type,
                                  int *nb_dims, int *dims, int *strides) {
    const Tensor &tensor = *static_cast<Tensor *>(descriptor);
    *data_type = tensor.data_type;
    *nb_dims = static_cast<int>(tensor.dims.size());
    for (int i = 0; i < requested && i < *nb_dims; ++i) {
        dims[i] = tensor.dims[static_cast<std::size_t>(i)];
        strides[i] = tensor.strides[static_cast<std::size_t>(i)];
    }
    return kSuccess;
}

#ifndef WITHOUT_REQUIRED
Status cudnnCreateDropoutDescriptor(Descriptor *made) {
    *made = new int(0);
    return kSuccess;
}
#endif
Status cudnnDestroyDropoutDescriptor(Descriptor dropout) {
    delete static_cast<int *>(dropout);
    return kSuccess;
}

#ifdef DIES_ON_LOAD
__attribute__((constructor)) static void die() {
    std::fputs("a library that cannot bear to be opened\n", stderr);
    std::abort();
}
#endif

#ifdef UNLOADABLE
extern int nobody_defines_this; // data, not a function: missed when the library is opened
int *needs_it = &nobody_defines_this;
#endif

} // extern "C"

// What is defined here is what pyharness declares of the calls that need no GPU.
#undef PYHARNESS_CUDNN_DEVICE_FUNCTIONS
#define PYHARNESS_CUDNN_DEVICE_FUNCTIONS(OPTIONAL)
#if !defined(WITHOUT_OPTIONAL) && !defined(WITHOUT_REQUIRED)
#define SAME_TYPE(name) static_assert(std::is_same_v<decltype(::name), pyharness::abi::name>);
PYHARNESS_CUDNN_FUNCTIONS(SAME_TYPE, SAME_TYPE)
#endif
