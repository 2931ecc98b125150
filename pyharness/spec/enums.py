"""cuDNN's enumerations, by our names and the vendor's.

An enumerator says in which release it appeared, so that a value can be walked on a release that has
no name for it. tests/abi compiles every entry against the real headers of every release.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pyharness.errors import unknown_name

ReleaseNumber = tuple[int, ...]


def appeared(since: ReleaseNumber | None, release: ReleaseNumber) -> bool:
    """Whether a release's headers have what appeared in ``since``; None: every release has it."""
    return since is None or release >= since


@dataclass(frozen=True, slots=True)
class Enumerator:
    """One named value of an enumeration.

    ``since``  first release whose headers have it; None: 8.5, the oldest, has it.
    """

    name: str
    value: int
    vendor: str
    since: ReleaseNumber | None = None


@dataclass(frozen=True, slots=True)
class EnumType:
    """An enumeration: names to integers and back.

    ``vendor``   the C type, for example cudnnRNNAlgo_t; macro flags have the integer type.
    ``markers``  enumerators that only count the others: checked, but no name for a value.
    ``aliases``  what others call an enumerator; read, never written.
    """

    name: str
    vendor: str
    members: tuple[Enumerator, ...]
    markers: tuple[Enumerator, ...] = ()
    aliases: Mapping[str, str] = field(default_factory=dict)

    def parse(self, text: str) -> int:
        """The integer of a name, or of an integer written out: values outside are allowed.

        The vendor's names and other people's are taken too, in capitals or not.

        Raises  UsageError for a word that is neither.
        """
        word = self.aliases.get(text.lower(), text.lower())
        for member in self.members:
            if word in (member.name, member.vendor.lower()):
                return member.value
        try:
            return int(text)
        except ValueError:
            hint = "(an integer is taken as it is, inside the enumeration or not)"
            raise unknown_name(self.name, text, [m.name for m in self.members], hint) from None

    def label(self, value: int) -> str:
        """The name of an integer, or the bare integer where there is no name."""
        for member in self.members:
            if member.value == value:
                return member.name
        return str(value)

    @property
    def values(self) -> tuple[int, ...]:
        """Every enumerator's integer, ascending."""
        return tuple(sorted(m.value for m in self.members))


def _counted(prefix: str, *names: str) -> tuple[Enumerator, ...]:
    """Enumerators that count from 0 and that every release has."""
    return tuple(Enumerator(n, i, prefix + n.upper()) for i, n in enumerate(names))


def _plain(name: str, vendor: str, prefix: str, *names: str) -> EnumType:
    """An enumeration that counts from 0 and that every release has in full."""
    return EnumType(name, vendor, _counted(prefix, *names))


ALGO = EnumType(
    "algo",
    "cudnnRNNAlgo_t",
    _counted(
        "CUDNN_RNN_ALGO_",
        "standard",
        "persist_static",
        "persist_dynamic",
        "persist_static_small_h",
    ),
    markers=(Enumerator("count", 4, "CUDNN_RNN_ALGO_COUNT"),),
)
CELL_MODE = EnumType(
    "cell_mode",
    "cudnnRNNMode_t",
    (
        Enumerator("rnn_relu", 0, "CUDNN_RNN_RELU"),
        Enumerator("rnn_tanh", 1, "CUDNN_RNN_TANH"),
        Enumerator("lstm", 2, "CUDNN_LSTM"),
        Enumerator("gru", 3, "CUDNN_GRU"),
    ),
)
BIAS_MODE = _plain(
    "bias_mode",
    "cudnnRNNBiasMode_t",
    "CUDNN_RNN_",
    "no_bias",
    "single_inp_bias",
    "double_bias",
    "single_rec_bias",
)
DIRECTION_MODE = _plain(
    "direction_mode", "cudnnDirectionMode_t", "CUDNN_", "unidirectional", "bidirectional"
)
INPUT_MODE = _plain("input_mode", "cudnnRNNInputMode_t", "CUDNN_", "linear_input", "skip_input")
MATH_TYPE = _plain(
    "math_type",
    "cudnnMathType_t",
    "CUDNN_",
    "default_math",
    "tensor_op_math",
    "tensor_op_math_allow_conversion",
    "fma_math",
)
_OTHER_TYPE_NAMES = {
    **dict.fromkeys(("fp16", "float16"), "half"),
    **dict.fromkeys(("fp32", "float32"), "float"),
    **dict.fromkeys(("fp64", "float64"), "double"),
    "bf16": "bfloat16",
}
DATA_TYPE = EnumType(
    "data_type",
    "cudnnDataType_t",
    (
        Enumerator("float", 0, "CUDNN_DATA_FLOAT"),
        Enumerator("double", 1, "CUDNN_DATA_DOUBLE"),
        Enumerator("half", 2, "CUDNN_DATA_HALF"),
        Enumerator("int8", 3, "CUDNN_DATA_INT8"),
        Enumerator("int32", 4, "CUDNN_DATA_INT32"),
        Enumerator("int8x4", 5, "CUDNN_DATA_INT8x4"),
        Enumerator("uint8", 6, "CUDNN_DATA_UINT8"),
        Enumerator("uint8x4", 7, "CUDNN_DATA_UINT8x4"),
        Enumerator("int8x32", 8, "CUDNN_DATA_INT8x32"),
        Enumerator("bfloat16", 9, "CUDNN_DATA_BFLOAT16"),
        Enumerator("int64", 10, "CUDNN_DATA_INT64"),
        Enumerator("boolean", 11, "CUDNN_DATA_BOOLEAN"),
        Enumerator("fp8_e4m3", 12, "CUDNN_DATA_FP8_E4M3", (8, 6)),
        Enumerator("fp8_e5m2", 13, "CUDNN_DATA_FP8_E5M2", (8, 6)),
        Enumerator("fast_float_for_fp8", 14, "CUDNN_DATA_FAST_FLOAT_FOR_FP8", (8, 7)),
        Enumerator("fp8_e8m0", 15, "CUDNN_DATA_FP8_E8M0", (9, 7)),
        Enumerator("fp4_e2m1", 16, "CUDNN_DATA_FP4_E2M1", (9, 7)),
        Enumerator("int4", 17, "CUDNN_DATA_INT4", (9, 11)),
        Enumerator("uint4", 18, "CUDNN_DATA_UINT4", (9, 11)),
        Enumerator("uint32", 19, "CUDNN_DATA_UINT32", (9, 11)),
        Enumerator("complex_fp32", 20, "CUDNN_DATA_COMPLEX_FP32", (9, 14)),
        Enumerator("complex_fp64", 21, "CUDNN_DATA_COMPLEX_FP64", (9, 14)),
        Enumerator("byte_boolean", 22, "CUDNN_DATA_BYTE_BOOLEAN", (9, 25)),
        Enumerator("fp8_e5m3", 23, "CUDNN_DATA_FP8_E5M3", (9, 26)),
    ),
    aliases=_OTHER_TYPE_NAMES,
)
LAYOUT = _plain(
    "layout",
    "cudnnRNNDataLayout_t",
    "CUDNN_RNN_DATA_LAYOUT_",
    "seq_major_unpacked",
    "seq_major_packed",
    "batch_major_unpacked",
)
CLIP_MODE = _plain("clip_mode", "cudnnRNNClipMode_t", "CUDNN_RNN_CLIP_", "none", "minmax")
CLIP_NAN_OPT = _plain(
    "clip_nan_opt", "cudnnNanPropagation_t", "CUDNN_", "not_propagate_nan", "propagate_nan"
)
AUX_FLAGS = _plain("aux_flags", "uint32_t", "CUDNN_RNN_", "padded_io_disabled", "padded_io_enabled")
FORWARD_MODE = EnumType(
    "forward_mode",
    "cudnnForwardMode_t",
    _counted("CUDNN_FWD_MODE_", "inference", "training"),
)
WGRAD_MODE = EnumType("wgrad_mode", "cudnnWgradMode_t", _counted("CUDNN_WGRAD_MODE_", "add", "set"))

ENUM_TYPES = (
    ALGO,
    CELL_MODE,
    BIAS_MODE,
    DIRECTION_MODE,
    INPUT_MODE,
    MATH_TYPE,
    DATA_TYPE,
    LAYOUT,
    CLIP_MODE,
    CLIP_NAN_OPT,
    AUX_FLAGS,
    FORWARD_MODE,
    WGRAD_MODE,
)
