"""The functions of cuDNN that we call: their C types, and since which release they are there.

csrc/abi/functions.hpp declares the same functions with enumerations as int and descriptors as
void*. tests/abi compiles both against the real headers of every release: the order of two
enumerations, which the C++ types cannot tell apart, is proven here.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyharness.spec.enums import ReleaseNumber


@dataclass(frozen=True, slots=True)
class Function:
    """One function.

    ``returns``     C type.
    ``parameters``  C types, in order.
    ``since``       first release whose headers declare it; None: 8.5, the oldest, does. No function
                    has gone since.
    ``needs_gpu``   takes a handle, which there is none of without a GPU.
    """

    name: str
    returns: str
    parameters: tuple[str, ...]
    since: ReleaseNumber | None = None
    needs_gpu: bool = False


_STATUS = "cudnnStatus_t"
_RNN_DESCRIPTOR = (
    "cudnnRNNAlgo_t",
    "cudnnRNNMode_t",
    "cudnnRNNBiasMode_t",
    "cudnnDirectionMode_t",
    "cudnnRNNInputMode_t",
    "cudnnDataType_t",
    "cudnnDataType_t",
    "cudnnMathType_t",
    "int32_t",
    "int32_t",
    "int32_t",
    "int32_t",
    "cudnnDropoutDescriptor_t",
    "uint32_t",
)


def _descriptor(kind: str) -> tuple[Function, Function]:
    """The functions that create and destroy one kind of descriptor."""
    handle = f"cudnn{kind}Descriptor_t"
    return (
        Function(f"cudnnCreate{kind}Descriptor", _STATUS, (f"{handle} *",)),
        Function(f"cudnnDestroy{kind}Descriptor", _STATUS, (handle,)),
    )


_HANDLE, _RNN, _DATA, _TENSOR = (
    "cudnnHandle_t",
    "cudnnRNNDescriptor_t",
    "cudnnRNNDataDescriptor_t",
    "cudnnTensorDescriptor_t",
)
_SPACES = ("size_t", "void *") * 2  # workspace and reserve space


def _device(name: str, *parameters: str) -> Function:
    """A function that takes a handle."""
    return Function(name, _STATUS, parameters, needs_gpu=True)


FUNCTIONS = (
    Function("cudnnGetVersion", "size_t", ()),
    Function("cudnnGetErrorString", "const char *", (_STATUS,)),
    Function("cudnnGetLastErrorString", "void", ("char *", "size_t"), since=(9, 0)),
    Function("cudnnSetCallback", _STATUS, ("unsigned", "void *", "cudnnCallback_t")),
    *_descriptor("RNN"),
    Function("cudnnSetRNNDescriptor_v8", _STATUS, ("cudnnRNNDescriptor_t", *_RNN_DESCRIPTOR)),
    Function(
        "cudnnGetRNNDescriptor_v8",
        _STATUS,
        ("cudnnRNNDescriptor_t", *(f"{kind} *" for kind in _RNN_DESCRIPTOR)),
    ),
    Function(
        "cudnnRNNSetClip_v8",
        _STATUS,
        (
            "cudnnRNNDescriptor_t",
            "cudnnRNNClipMode_t",
            "cudnnNanPropagation_t",
            "double",
            "double",
        ),
    ),
    Function(
        "cudnnRNNSetClip_v9",
        _STATUS,
        ("cudnnRNNDescriptor_t", "cudnnRNNClipMode_t", "double", "double"),
        since=(9, 0),
    ),
    *_descriptor("RNNData"),
    Function(
        "cudnnSetRNNDataDescriptor",
        _STATUS,
        (
            "cudnnRNNDataDescriptor_t",
            "cudnnDataType_t",
            "cudnnRNNDataLayout_t",
            "int",
            "int",
            "int",
            "const int *",
            "void *",
        ),
    ),
    Function(
        "cudnnGetRNNDataDescriptor",
        _STATUS,
        (
            "cudnnRNNDataDescriptor_t",
            "cudnnDataType_t *",
            "cudnnRNNDataLayout_t *",
            "int *",
            "int *",
            "int *",
            "int",
            "int *",
            "void *",
        ),
    ),
    *_descriptor("Tensor"),
    Function(
        "cudnnSetTensorNdDescriptor",
        _STATUS,
        ("cudnnTensorDescriptor_t", "cudnnDataType_t", "int", "const int *", "const int *"),
    ),
    Function(
        "cudnnGetTensorNdDescriptor",
        _STATUS,
        (
            "cudnnTensorDescriptor_t",
            "int",
            "cudnnDataType_t *",
            "int *",
            "int *",
            "int *",
        ),
    ),
    *_descriptor("Dropout"),
    _device("cudnnCreate", f"{_HANDLE} *"),
    _device("cudnnDestroy", _HANDLE),
    _device("cudnnSetStream", _HANDLE, "cudaStream_t"),
    _device("cudnnDropoutGetStatesSize", _HANDLE, "size_t *"),
    _device(
        "cudnnSetDropoutDescriptor",
        "cudnnDropoutDescriptor_t",
        _HANDLE,
        "float",
        "void *",
        "size_t",
        "unsigned long long",
    ),
    _device("cudnnGetRNNWeightSpaceSize", _HANDLE, _RNN, "size_t *"),
    _device(
        "cudnnGetRNNTempSpaceSizes",
        _HANDLE,
        _RNN,
        "cudnnForwardMode_t",
        _DATA,
        "size_t *",
        "size_t *",
    ),
    _device(
        "cudnnGetRNNWeightParams",
        _HANDLE,
        _RNN,
        "int32_t",
        "size_t",
        "const void *",
        "int32_t",
        _TENSOR,
        "void **",
        _TENSOR,
        "void **",
    ),
    _device("cudnnBuildRNNDynamic", _HANDLE, _RNN, "int"),
    _device(
        "cudnnRNNForward",
        *(_HANDLE, _RNN, "cudnnForwardMode_t", "const int32_t *"),
        *(_DATA, "const void *", _DATA, "void *"),
        *(_TENSOR, "const void *", "void *") * 2,
        *("size_t", "const void *", *_SPACES),
    ),
    _device(
        "cudnnRNNBackwardData_v8",
        *(_HANDLE, _RNN, "const int32_t *"),
        *(_DATA, "const void *", "const void *", _DATA, "void *"),
        *(_TENSOR, "const void *", "const void *", "void *") * 2,
        *("size_t", "const void *", *_SPACES),
    ),
    _device(
        "cudnnRNNBackwardWeights_v8",
        *(_HANDLE, _RNN, "cudnnWgradMode_t", "const int32_t *"),
        *(_DATA, "const void *", _TENSOR, "const void *", _DATA, "const void *"),
        *("size_t", "void *", *_SPACES),
    ),
)
