"""What is compared with CuPy on a device is what numpy says of the same bytes."""

from __future__ import annotations

import numpy as np
import pytest

from pyharness.api.device import open_runner
from pyharness.engine.workbench import OUTPUTS, Workbench
from pyharness.releases import Release
from pyharness.spec.differences import difference
from pyharness.spec.problem import parse_problem
from pyharness.spec.stages import PASSES

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize("data_type", ["float", "double", "half", "bfloat16"])
def test_the_device_compares_as_the_host_does(release_here: Release, data_type: str) -> None:
    precise = "double" if data_type == "double" else "float"
    words = ["hidden_size=64", "input_size=64", "batch_size=8", "max_seq_length=5"]
    problem = parse_problem([*words, f"data_type={data_type}", f"math_prec={precise}"])
    with open_runner(release_here) as runner:
        work = Workbench(runner)
        assert work.open(problem).stopped is None
        for name in PASSES[1:]:
            work.run(name)
        digests = work.digest(OUTPUTS)
        work.keep("first", OUTPUTS)
        if set(work.compared_on.values()) != {"device"}:
            pytest.skip(f"compared on: {work.compared_on}")
        assert all(d.same for d in work.compare("first", OUTPUTS).values())
        rng = np.random.default_rng(0)
        size = len(work.read("y"))
        for before, now in ((rng.bytes(size), rng.bytes(size)), (bytes(size), bytes(size))):
            work.write("y", before)
            work.keep("other", ["y"])
            work.write("y", now)
            expected = difference(before, now, data_type)
            assert work.compare("other", ["y"])["y"] == expected
        # cuDNN works on as before CuPy came.
        for name in PASSES[1:]:
            work.run(name)
        assert work.digest(OUTPUTS) == digests
