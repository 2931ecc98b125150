"""No report is left out of the table, and who is said to answer one is there."""

from __future__ import annotations

from collections import Counter

import pytest
import typer.main

from pyharness.cli.main import app
from tests.reports.cases import GPU, HOST, OTHER, Case

REPORTS = """
apache/mxnet#16391
apache/mxnet#16670
apache/mxnet#19333
apache/mxnet#3274
chainer/chainer#3955
chainer/chainer#5436
chainer/chainer#6262
denizyuret/Knet.jl#195
discuss.pytorch.org: persistent algorithm in GRU and LSTM
facebookresearch/fairseq#465
FluxML/Flux.jl#1114
FluxML/Flux.jl#854
HKUST-KnowComp/R-Net#19
jax-ml/jax#15183
jax-ml/jax#17653
jax-ml/jax#17966
keras-team/keras#13305
keras-team/keras#8885
keras-team/keras#9112
keras-team/tf-keras#772
microsoft/onnxruntime#1361
microsoft/onnxruntime#1400
microsoft/onnxruntime#1660
microsoft/onnxruntime#19419
microsoft/onnxruntime#19454
mozilla/DeepSpeech#3327
NVIDIA cuDNN 7.6.0 release notes
NVIDIA cuDNN 7.x release notes (known issues)
NVIDIA developer forum: use of cuDNN RNN
NVIDIA/TensorRT#4490
obryanlouis/qa#5
PaddlePaddle/Paddle#36411
PaddlePaddle/Paddle#49737
PPPLDeepLearning/plasma-python#52
pytorch/pytorch#11514
pytorch/pytorch#1183
pytorch/pytorch#133751
pytorch/pytorch#149194
pytorch/pytorch#18110
pytorch/pytorch#2267
pytorch/pytorch#3613
pytorch/pytorch#3665
pytorch/pytorch#39849
pytorch/pytorch#48070
pytorch/pytorch#48766
pytorch/pytorch#50192
pytorch/pytorch#5369
pytorch/pytorch#54307
pytorch/pytorch#59418
pytorch/pytorch#599
pytorch/pytorch#6306
pytorch/pytorch#65301
pytorch/pytorch#703
pytorch/pytorch#71696
pytorch/pytorch#73211
pytorch/pytorch#767
sdatkinson/neural-amp-modeler#512
soumith/cudnn.torch#197
soumith/cudnn.torch#259
soumith/cudnn.torch#278
tensorflow/tensorflow#105092
tensorflow/tensorflow#16042
tensorflow/tensorflow#17968
tensorflow/tensorflow#26331
tensorflow/tensorflow#33069
tensorflow/tensorflow#36139
tensorflow/tensorflow#39453
tensorflow/tensorflow#39989
tensorflow/tensorflow#40403
tensorflow/tensorflow#40877
tensorflow/tensorflow#40982
tensorflow/tensorflow#41630
tensorflow/tensorflow#48702
tensorflow/tensorflow#51521
tensorflow/tensorflow#60192
tensorflow/tensorflow#8311
tensorflow/tensorflow#99870
""".strip().splitlines()


def test_each_report_is_in_the_table_once() -> None:
    assert Counter(c.source for c in (*HOST, *GPU, *OTHER)) == Counter(REPORTS)
    assert len(REPORTS) == 77


@pytest.mark.parametrize("case", [pytest.param(c, id=c.source) for c in OTHER])
def test_who_answers_what_is_no_problem(case: Case) -> None:
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    by, _, topic = case.answered_by.partition(": ")
    assert by in (*commands, "unknown", "nothing yet")
    assert bool(topic) == (by == "nothing yet")
    assert not case.asks


def test_what_shows_a_report_on_a_gpu_is_a_command() -> None:
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    assert {c.shown_by for c in GPU} <= {"", *commands}
