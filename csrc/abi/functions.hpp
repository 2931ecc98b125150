// The functions of cuDNN and their types that we call, declared by us: no vendor header is
// included.
//
// Enumerations travel as int and descriptors as void*: that is how they are passed by the C ABI,
// and only so can a value be handed over that a release has no enumerator for. tests/abi compiles
// these types against the vendor's real headers of every release.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pyharness::abi {

using Status = int;        // cudnnStatus_t
using Enum = int;          // any other enumeration
using Descriptor = void *; // any opaque descriptor

// What cudnnSetCallback hands over beside the message. Only its address is used.
struct DebugInfo;
using Callback = void (*)(Enum severity, void *udata, const DebugInfo *debug, const char *message);

constexpr Status kSuccess = 0;
constexpr unsigned kErrorEnabled = 1U << 1;   // CUDNN_SEV_ERROR_EN
constexpr unsigned kWarningEnabled = 1U << 2; // CUDNN_SEV_WARNING_EN

using cudnnGetVersion = std::size_t();
using cudnnGetErrorString = const char *(Status);
using cudnnGetLastErrorString = void(char *, std::size_t);
using cudnnSetCallback = Status(unsigned, void *, Callback);

using cudnnCreateRNNDescriptor = Status(Descriptor *);
using cudnnDestroyRNNDescriptor = Status(Descriptor);
using cudnnSetRNNDescriptor_v8 = Status(Descriptor rnn, Enum algo, Enum cell_mode, Enum bias_mode,
                                        Enum direction_mode, Enum input_mode, Enum data_type,
                                        Enum math_prec, Enum math_type, std::int32_t input_size,
                                        std::int32_t hidden_size, std::int32_t proj_size,
                                        std::int32_t num_layers, Descriptor dropout,
                                        std::uint32_t aux_flags);
using cudnnGetRNNDescriptor_v8 = Status(Descriptor, Enum *, Enum *, Enum *, Enum *, Enum *, Enum *,
                                        Enum *, Enum *, std::int32_t *, std::int32_t *,
                                        std::int32_t *, std::int32_t *, Descriptor *,
                                        std::uint32_t *);

using cudnnRNNSetClip_v8 = Status(Descriptor rnn, Enum clip_mode, Enum clip_nan_opt, double lclip,
                                  double rclip);
using cudnnRNNSetClip_v9 = Status(Descriptor rnn, Enum clip_mode, double lclip, double rclip);

using cudnnCreateRNNDataDescriptor = Status(Descriptor *);
using cudnnDestroyRNNDataDescriptor = Status(Descriptor);
using cudnnSetRNNDataDescriptor = Status(Descriptor data, Enum data_type, Enum layout,
                                         int max_seq_length, int batch_size, int vector_size,
                                         const int *seq_lengths, void *padding_fill);
using cudnnGetRNNDataDescriptor = Status(Descriptor, Enum *, Enum *, int *, int *, int *, int,
                                         int *, void *);

using cudnnCreateTensorDescriptor = Status(Descriptor *);
using cudnnDestroyTensorDescriptor = Status(Descriptor);
using cudnnSetTensorNdDescriptor = Status(Descriptor tensor, Enum data_type, int nb_dims,
                                          const int *dims, const int *strides);
using cudnnGetTensorNdDescriptor = Status(Descriptor, int, Enum *, int *, int *, int *);

using cudnnCreateDropoutDescriptor = Status(Descriptor *);
using cudnnDestroyDropoutDescriptor = Status(Descriptor);

// Every function above, and whether a release may lack it: those that may are null in the shim.
#define PYHARNESS_CUDNN_FUNCTIONS(REQUIRED, OPTIONAL)                                              \
    REQUIRED(cudnnGetVersion)                                                                      \
    REQUIRED(cudnnGetErrorString)                                                                  \
    OPTIONAL(cudnnGetLastErrorString)                                                              \
    REQUIRED(cudnnSetCallback)                                                                     \
    REQUIRED(cudnnCreateRNNDescriptor)                                                             \
    REQUIRED(cudnnDestroyRNNDescriptor)                                                            \
    REQUIRED(cudnnSetRNNDescriptor_v8)                                                             \
    REQUIRED(cudnnGetRNNDescriptor_v8)                                                             \
    OPTIONAL(cudnnRNNSetClip_v8)                                                                   \
    OPTIONAL(cudnnRNNSetClip_v9)                                                                   \
    REQUIRED(cudnnCreateRNNDataDescriptor)                                                         \
    REQUIRED(cudnnDestroyRNNDataDescriptor)                                                        \
    REQUIRED(cudnnSetRNNDataDescriptor)                                                            \
    REQUIRED(cudnnGetRNNDataDescriptor)                                                            \
    REQUIRED(cudnnCreateTensorDescriptor)                                                          \
    REQUIRED(cudnnDestroyTensorDescriptor)                                                         \
    REQUIRED(cudnnSetTensorNdDescriptor)                                                           \
    REQUIRED(cudnnGetTensorNdDescriptor)                                                           \
    REQUIRED(cudnnCreateDropoutDescriptor)                                                         \
    REQUIRED(cudnnDestroyDropoutDescriptor)

} // namespace pyharness::abi
