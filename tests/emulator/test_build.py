"""Releases that are emulated: each has its own settings, and its libraries stay what they are."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from pyharness.releases import Release
from tests.emulator.build import LIBRARIES, EmulatedRelease
from tests.emulator.play import play

Emulator = Callable[..., EmulatedRelease]


def test_a_release_brings_its_own_settings(
    emulator: Emulator,
    cudnn: Callable[[str], Release],
    emulated_driver: dict[str, str],
    tmp_path: Path,
) -> None:
    real = cudnn("9.28.0.42+cu12").path
    name = "fault_scenes:settings_of_a_release"
    for slower, devices in ((1.5, 1), (2.0, 3)):
        release = emulator(real, slower=slower, devices=devices, compute=False)
        env = {**emulated_driver, **release.env}
        played = play(name, tmp_path, env, str(release.cudnn), "slower")
        assert played.answer == [-1.0, slower, devices], played.stderr


def test_faults_of_the_driver_are_known_before_libcudnn_is_loaded(emulator: Emulator) -> None:
    faults = ["oom@cuMemAlloc_v2:2", "status:BAD_PARAM@cudnnCreate"]
    release = emulator(Path("/real.so"), fault=faults, compute=False, name="A card")
    early = release.env["PYHARNESS_EMULATOR"].splitlines()
    assert sorted(early) == ["fault=oom@cuMemAlloc_v2:2", "name=A card"]
    conf = release.cudnn.with_name("emulator.conf").read_text().splitlines()
    assert conf == ["cudnn=/real.so", "fault=status:BAD_PARAM@cudnnCreate", "compute=off"]


def test_violations_of_every_process_are_kept(
    emulator: Emulator, emulated_driver: dict[str, str], tmp_path: Path
) -> None:
    release = emulator(Path("/real.so"))
    assert release.violations == []
    for kind in ("event", "stream"):
        play("fault_scenes:leave", tmp_path, {**emulated_driver, **release.env}, [kind])
    expected = [
        f"cuDevicePrimaryCtxRelease_v2: 1 {kind} left behind" for kind in ("event", "stream")
    ]
    assert release.violations == expected


def test_each_folder_has_all_libraries(emulator: Emulator, emulated_libraries: Path) -> None:
    releases = [emulator(Path("/real.so")) for _ in range(2)]
    assert releases[0].cudnn.parent != releases[1].cudnn.parent
    for release in releases:
        for name in LIBRARIES:
            copy = release.cudnn.with_name(name)
            assert copy.read_bytes() == (emulated_libraries / name).read_bytes()
