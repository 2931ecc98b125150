"""The card's state: from the emulated NVML through nvidia-ml-py, and what is null."""

from __future__ import annotations

import json
import os
import re
import struct
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pynvml
import pytest

from pyharness.engine.card import Card, open_card
from pyharness.measure.throttling import SETTINGS, SLOWING

MOST_CARDS = 16
READ = """
import dataclasses, json, sys
from pyharness.engine.card import open_card
card = open_card(sys.argv[1])
if card is None:
    print("null")
else:
    with card:
        reading = card.read()
    print(json.dumps({**dataclasses.asdict(reading), "reasons": reading.reasons}))
"""


def read(folder: Path, address: str, **env: str) -> Any:
    done = subprocess.run(
        [sys.executable, "-c", READ, address],
        env={**os.environ, "LD_LIBRARY_PATH": str(folder), **env},
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


def test_a_card_at_rest(emulated_libraries: Path) -> None:
    before = time.time()
    said = read(emulated_libraries, "0000:10:00.0")
    assert before <= said.pop("time_s") <= time.time()
    assert said == {
        "sm_clock_hz": 210_000_000,
        "memory_clock_hz": 1_215_000_000,
        "temperature_c": 35,
        "power_w": 60.0,
        "throttle_reasons": 1,
        "reasons": ["gpu_idle"],
    }


def test_the_card_is_found_by_its_address(emulated_libraries: Path, tmp_path: Path) -> None:
    # of each card: written, SM and memory clock in MHz, degrees, mW, reasons, processes, passes
    cards = [(1, 1000 + i, 1215, 40 + i, 123_456 + i, 0x40 | i, 0, 0) for i in range(MOST_CARDS)]
    state = tmp_path / "state"
    state.write_bytes(b"".join(struct.pack("<5I4x3Q", *card) for card in cards))
    env = {"PYHARNESS_EMULATOR_STATE": str(state), "PYHARNESS_EMULATOR": "devices=3"}
    said = read(emulated_libraries, "0000:12:00.0", **env)
    assert said["sm_clock_hz"] == 1_002_000_000
    assert (said["temperature_c"], said["power_w"]) == (42, 123.458)
    assert said["throttle_reasons"] == 0x42
    assert said["reasons"] == ["applications_clocks_setting", "hw_thermal_slowdown"]
    assert read(emulated_libraries, "0000:13:00.0", **env) is None


def test_no_driver_is_no_error(emulated_libraries: Path, tmp_path: Path) -> None:
    assert read(emulated_libraries, "0000:10:00.0", PYHARNESS_EMULATOR="devices=0") is None
    (tmp_path / "libnvidia-ml.so.1").write_text("not a library")
    assert read(tmp_path, "0000:10:00.0") is None


def test_no_nvidia_ml_py_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)
    assert open_card("0000:10:00.0") is None


class OldNvml:
    """A driver before 535 with a card that tells neither power nor temperature."""

    NVML_CLOCK_SM, NVML_CLOCK_MEM, NVML_TEMPERATURE_GPU = 1, 2, 0

    class NVMLError(Exception):
        pass

    def nvmlDeviceGetClockInfo(self, handle: str, kind: int) -> int:  # noqa: N802
        return {"card": {1: 1500, 2: 900}}[handle][kind]

    def missing(self, *_: object) -> int:
        raise self.NVMLError

    nvmlDeviceGetPowerUsage = missing  # noqa: N815
    nvmlDeviceGetTemperature = missing  # noqa: N815
    nvmlDeviceGetCurrentClocksEventReasons = missing  # noqa: N815
    nvmlShutdown = missing  # noqa: N815

    def nvmlDeviceGetCurrentClocksThrottleReasons(self, handle: str) -> int:  # noqa: N802
        return 0


def test_what_a_card_does_not_tell_is_null() -> None:
    with Card(OldNvml(), "card") as card:
        said = card.read()
    assert (said.sm_clock_hz, said.memory_clock_hz) == (1_500_000_000, 900_000_000)
    assert (said.temperature_c, said.power_w) == (None, None)
    assert (said.throttle_reasons, said.reasons) == (0, ())


def test_reasons_are_null_where_nothing_tells_them() -> None:
    old = OldNvml()
    old.nvmlDeviceGetCurrentClocksThrottleReasons = old.missing  # type: ignore[method-assign]
    said = Card(old, "card").read()
    assert (said.throttle_reasons, said.reasons) == (None, None)


def test_reasons_have_the_names_that_nvidia_gives_them() -> None:
    prefix = "nvmlClocksEventReason"
    theirs: dict[int, set[str]] = {}
    for name in dir(pynvml):
        if name.startswith(prefix):
            words = re.findall(r"[A-Z][a-z]*", name.removeprefix(prefix))
            theirs.setdefault(getattr(pynvml, name), set()).add("_".join(words).lower())
    for bit, name in (SLOWING | SETTINGS).items():
        assert name in theirs[bit]
    single = {bit for bit in theirs if bit and not bit & (bit - 1)}
    assert single == set(SLOWING | SETTINGS)
