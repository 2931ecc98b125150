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
using Handle = void *;     // cudnnHandle_t
using CudaStream = void *; // cudaStream_t, the driver's CUstream

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

// From here on a handle is needed, and with it a GPU.
using cudnnCreate = Status(Handle *);
using cudnnDestroy = Status(Handle);
using cudnnSetStream = Status(Handle, CudaStream);
using cudnnDropoutGetStatesSize = Status(Handle, std::size_t *);
using cudnnSetDropoutDescriptor = Status(Descriptor dropout, Handle handle, float rate,
                                         void *states, std::size_t states_bytes,
                                         unsigned long long seed);
using cudnnGetRNNWeightSpaceSize = Status(Handle handle, Descriptor rnn, std::size_t *bytes);
using cudnnGetRNNTempSpaceSizes = Status(Handle handle, Descriptor rnn, Enum forward_mode,
                                         Descriptor x, std::size_t *workspace_bytes,
                                         std::size_t *reserve_space_bytes);
using cudnnGetRNNWeightParams = Status(Handle handle, Descriptor rnn, std::int32_t pseudo_layer,
                                       std::size_t weight_space_bytes, const void *weight_space,
                                       std::int32_t lin_layer_id, Descriptor matrix,
                                       void **matrix_address, Descriptor bias, void **bias_address);
using cudnnBuildRNNDynamic = Status(Handle handle, Descriptor rnn, int batch_size);
using cudnnRNNForward = Status(Handle handle, Descriptor rnn, Enum forward_mode,
                               const std::int32_t *dev_seq_lengths, Descriptor x_desc,
                               const void *x, Descriptor y_desc, void *y, Descriptor h_desc,
                               const void *hx, void *hy, Descriptor c_desc, const void *cx,
                               void *cy, std::size_t weight_space_bytes, const void *weight_space,
                               std::size_t workspace_bytes, void *workspace,
                               std::size_t reserve_space_bytes, void *reserve_space);
using cudnnRNNBackwardData_v8 = Status(
    Handle handle, Descriptor rnn, const std::int32_t *dev_seq_lengths, Descriptor y_desc,
    const void *y, const void *dy, Descriptor x_desc, void *dx, Descriptor h_desc, const void *hx,
    const void *dhy, void *dhx, Descriptor c_desc, const void *cx, const void *dcy, void *dcx,
    std::size_t weight_space_bytes, const void *weight_space, std::size_t workspace_bytes,
    void *workspace, std::size_t reserve_space_bytes, void *reserve_space);
using cudnnRNNBackwardWeights_v8 = Status(Handle handle, Descriptor rnn, Enum wgrad_mode,
                                          const std::int32_t *dev_seq_lengths, Descriptor x_desc,
                                          const void *x, Descriptor h_desc, const void *hx,
                                          Descriptor y_desc, const void *y,
                                          std::size_t weight_space_bytes, void *dweight_space,
                                          std::size_t workspace_bytes, void *workspace,
                                          std::size_t reserve_space_bytes, void *reserve_space);

// The functions that need a GPU. Every release has them; a library that is only walked need not.
#define PYHARNESS_CUDNN_DEVICE_FUNCTIONS(OPTIONAL)                                                 \
    OPTIONAL(cudnnCreate)                                                                          \
    OPTIONAL(cudnnDestroy)                                                                         \
    OPTIONAL(cudnnSetStream)                                                                       \
    OPTIONAL(cudnnDropoutGetStatesSize)                                                            \
    OPTIONAL(cudnnSetDropoutDescriptor)                                                            \
    OPTIONAL(cudnnGetRNNWeightSpaceSize)                                                           \
    OPTIONAL(cudnnGetRNNTempSpaceSizes)                                                            \
    OPTIONAL(cudnnGetRNNWeightParams)                                                              \
    OPTIONAL(cudnnBuildRNNDynamic)                                                                 \
    OPTIONAL(cudnnRNNForward)                                                                      \
    OPTIONAL(cudnnRNNBackwardData_v8)                                                              \
    OPTIONAL(cudnnRNNBackwardWeights_v8)

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
    REQUIRED(cudnnDestroyDropoutDescriptor)                                                        \
    PYHARNESS_CUDNN_DEVICE_FUNCTIONS(OPTIONAL)

} // namespace pyharness::abi
