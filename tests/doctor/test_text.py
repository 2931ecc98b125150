"""The screen of doctor, from facts that are made up."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from pyharness.doctor import (
    CacheState,
    Compiled,
    Diagnosis,
    Driver,
    Finding,
    IndexState,
    Library,
    Machine,
    Opening,
)
from pyharness.doctor.findings import find
from pyharness.doctor.text import render_doctor

CALLS = ("cudnnSetRNNDescriptor_v8", "cudnnSetRNNDataDescriptor")
NO_DRIVER = Driver(
    loaded=False,
    version=None,
    cuda_version=None,
    gpus=(),
    pci_gpus=0,
    problem="libcuda.so.1: cannot open shared object file: No such file or directory",
)


def cached(version: str, opening: Opening | None) -> Library:
    path = Path(f"/cache/releases/{version}+cu12/nvidia/cudnn/lib/libcudnn.so.9")
    return Library(f"{version}+cu12", version, 12, path, "cache", False, 10**8, opening=opening)


def diagnosis(*libraries: Library, findings: tuple[Finding, ...] = ()) -> Diagnosis:
    return Diagnosis(
        machine=Machine("0.1.0", "3.12.1", "Linux", "x86_64", 16, 128 * 10**9),
        compiled=Compiled("GNU 12.2.0", "Release"),
        driver=NO_DRIVER,
        libraries=libraries,
        index=IndexState(60, "8.5.0.96", "9.28.1.4"),
        cache=CacheState(Path("/cache"), len(libraries), 10**9, 5 * 10**10),
        packages={"numpy": "2.4.6", "torch": None},
        findings=findings,
    )


def test_the_whole_screen() -> None:
    libraries = [cached("9.13.0.50", Opening("9.13.0", CALLS)), cached("9.12.0.46", None)]
    base = diagnosis(*libraries)
    findings = tuple(
        find(base.compiled, base.driver, libraries, base.index, base.cache, base.packages)
    )
    text = render_doctor(dataclasses.replace(base, findings=findings), 80)
    assert text.splitlines() == [
        "pyharness 0.1.0, Python 3.12.1, Linux x86_64, 16 cores, 128 GB memory",
        "",
        "  compiled part  GNU 12.2.0, Release",
        "  driver         none",
        "  package index  60 releases, 8.5.0.96 to 9.28.1.4",
        "  cache          2 releases, 1.00 GB in /cache, 50.0 GB free",
        "  packages       numpy 2.4.6; without torch",
        "",
        "cuDNN libraries",
        "  9.13.0.50+cu12   cache, light   works, says 9.13.0, 2 calls answered",
        "  1 more in the cache, not opened (--all opens them)",
        "",
        "What is missing or broken",
        "  no NVIDIA driver and no GPU",
        "    prevents     timing, repeatability, accuracy; map, diff and try need no GPU",
        "    mend         use a machine with a GPU: nothing to install on this one",
        "",
        "Mapping what a release accepts (map, diff, try) works here.",
    ]


def test_commands_stay_on_one_line_and_words_are_wrapped() -> None:
    command = "pip install --force-reinstall " + "nvidia-cudnn-cu12==9.13.0.50 " * 4
    finding = Finding(
        "the cause of it all, " * 8, "this and that, " * 12, (command, "other"), "or so, " * 20
    )
    lines = render_doctor(diagnosis(findings=(finding,)), 80).splitlines()
    assert [line for line in lines if len(line) > 80] == [f"    mend         {command}"]
    assert "    or           other" in lines


def test_only_the_end_of_what_a_library_printed_is_shown() -> None:
    printed = "\n".join(f"line {n} {'x ' * 400}" for n in range(50))
    lines = render_doctor(diagnosis(findings=(Finding("w", "p", detail=printed),)), 80).splitlines()
    said = [line for line in lines if "line" in line and "x x" in line]
    assert [line.split("line ")[1][:2] for line in said] == ["48", "49"]
    assert len(lines) <= 40


@pytest.mark.parametrize("count", [0, 1, 60])
def test_a_large_cache_takes_one_line(count: int) -> None:
    libraries = [cached(f"9.{n}.0.1", None) for n in range(count)]
    assert len(render_doctor(diagnosis(*libraries), 80).splitlines()) <= 12


@pytest.mark.parametrize(
    ("opening", "reachable", "works"),
    [
        (Opening("9.13.0", CALLS), False, True),
        (Opening(None, (), "ends the process"), True, False),
        (None, True, True),
        (None, False, False),
    ],
)
def test_whether_mapping_works(opening: Opening | None, reachable: bool, works: bool) -> None:
    index = IndexState(60, "8.5.0.96", "9.28.1.4") if reachable else IndexState(problem="gone")
    base = dataclasses.replace(diagnosis(cached("9.13.0.50", opening)), index=index)
    assert base.works is works
    broken = dataclasses.replace(base, compiled=Compiled(problem="not built"))
    assert broken.works is False
