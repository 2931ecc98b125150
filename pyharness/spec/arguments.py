"""The C arguments behind the axes: what a person looks for in the code that made the call."""

from __future__ import annotations

from pyharness.spec.calls import Call

# By call; the names are those of the vendor's prototypes.
_ARGUMENTS = {
    "cudnnSetRNNDescriptor_v8": {
        "algo": "algo",
        "cell_mode": "cellMode",
        "bias_mode": "biasMode",
        "direction_mode": "dirMode",
        "input_mode": "inputMode",
        "data_type": "dataType",
        "math_prec": "mathPrec",
        "math_type": "mathType",
        "input_size": "inputSize",
        "hidden_size": "hiddenSize",
        "proj_size": "projSize",
        "num_layers": "numLayers",
        "dropout": "dropoutDesc",
        "aux_flags": "auxFlags",
    },
    "cudnnRNNSetClip_v8": {
        "cell_mode": "rnnDesc",
        "clip_mode": "clipMode",
        "clip_nan_opt": "clipNanOpt",
        "lclip": "lclip",
        "rclip": "rclip",
    },
    "cudnnRNNSetClip_v9": {
        "cell_mode": "rnnDesc",
        "clip_mode": "clipMode",
        "lclip": "lclip",
        "rclip": "rclip",
    },
    "cudnnSetRNNDataDescriptor": {
        "seq_lengths": "seqLengthArray",
        "max_seq_length": "maxSeqLength",
        "batch_size": "batchSize",
        "layout": "layout",
        "data_type": "dataType",
        "vector_size": "vectorSize",
        "padding_fill": "paddingFill",
    },
    "cudnnSetTensorNdDescriptor": {
        "strides": "strideA",
        "nb_dims": "nbDims",
        "data_type": "dataType",
        "tensor": "dimA[2]",
        "num_layers": "dimA[0]",
        "direction_mode": "dimA[0]",
        "batch_size": "dimA[1]",
        "hidden_size": "dimA[2]",
        "proj_size": "dimA[2]",
    },
}


def argument(call: Call, axis: str) -> str:
    """The C argument that an axis of a call is handed over in.

    Source  the prototypes in cuDNN's headers; a test reads them.
    """
    return _ARGUMENTS[call.name][axis]
