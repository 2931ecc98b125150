"""What tests of the compiled part share: plans on an emulator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pyharness.releases import Release
from tests.device import planning
from tests.emulator.build import EmulatedRelease


@pytest.fixture
def ask(
    emulator: Callable[..., EmulatedRelease], cudnn: Callable[[str], Release]
) -> Callable[..., Any]:
    """Asks a function of planning, on an emulator with these settings; no rule may be broken."""

    def answer(function: Callable[..., Any], *arguments: object, **emulated: object) -> Any:
        broken = emulated.pop("broken", [])
        release = emulator(cudnn("9.28.0.42+cu12").path, **{"l2_bytes": 1 << 20, **emulated})
        said = planning.ask(str(release.cudnn), release.env, function.__name__, *arguments)
        assert release.violations == broken
        return said

    return answer
