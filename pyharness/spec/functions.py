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
    """

    name: str
    returns: str
    parameters: tuple[str, ...]
    since: ReleaseNumber | None = None


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
)
