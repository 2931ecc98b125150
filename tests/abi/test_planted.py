"""The proof can fail: each planted fault is found, and named."""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from pyharness.spec.enums import ENUM_TYPES, EnumType
from pyharness.spec.functions import FUNCTIONS, Function
from pyharness.spec.statuses import Status, numbering

from .headers import Headers
from .proof import FUNCTIONS_HPP, Declared, prove


@pytest.mark.parametrize(
    ("function", "old", "new"),
    [
        pytest.param("cudnnRNNSetClip_v8", "double lclip", "float lclip", id="narrower-real"),
        pytest.param("cudnnRNNSetClip_v8", ", double rclip)", ")", id="argument-missing"),
        pytest.param("cudnnRNNSetClip_v8", "double lclip", "int lclip", id="integer-for-real"),
        pytest.param("cudnnSetRNNDescriptor_v8", "int32_t input_size", "int64_t n", id="wider"),
        pytest.param("cudnnSetRNNDescriptor_v8", "uint32_t aux", "int32_t aux", id="sign"),
        pytest.param(
            "cudnnSetRNNDescriptor_v8", "Descriptor dropout,", "int dropout,", id="no-pointer"
        ),
        pytest.param("cudnnSetRNNDataDescriptor", "const int *", "int *", id="const-missing"),
        pytest.param("cudnnGetRNNDescriptor_v8", "Enum *", "Enum", id="pointer-missing"),
        pytest.param("cudnnCreateRNNDescriptor", "Descriptor *", "Descriptor", id="level-missing"),
        pytest.param(
            "cudnnSetCallback",
            "unsigned, void *, Callback",
            "void *, unsigned, Callback",
            id="order",
        ),
        pytest.param("cudnnSetCallback", ", Callback)", ", void (*)(int))", id="callback"),
        pytest.param("cudnnGetErrorString", "const char *", "char *", id="result"),
    ],
)
def test_wrong_type_is_found(
    newest: Headers, tmp_path: Path, function: str, old: str, new: str
) -> None:
    text = FUNCTIONS_HPP.read_text(encoding="utf-8")
    declaration = re.search(rf"using {function} = [^;]*;", text)
    assert declaration is not None
    on_one_line = " ".join(declaration[0].split())
    planted = on_one_line.replace(old, new, 1)
    assert planted != on_one_line
    copy = tmp_path / "functions.hpp"
    copy.write_text(text.replace(declaration[0], planted), encoding="utf-8")

    problems = prove(newest.release, newest.include_dirs, Declared(functions_hpp=copy))

    assert len(problems) == 1
    assert function in problems[0]


def test_swapped_enumerations_are_found(newest: Headers) -> None:
    set_rnn = _function("cudnnSetRNNDescriptor_v8")
    types = list(set_rnn.parameters)
    types[1], types[2] = types[2], types[1]
    declared = _with_function(replace(set_rnn, parameters=tuple(types)))

    problems = prove(newest.release, newest.include_dirs, declared)

    assert len(problems) == 1
    assert "cudnnSetRNNDescriptor_v8" in problems[0]


def test_function_declared_too_early_is_found(newest: Headers) -> None:
    declared = _with_function(replace(_function("cudnnRNNSetClip_v9"), since=(99, 0)))

    problems = prove(newest.release, newest.include_dirs, declared)

    assert len(problems) == 1
    assert problems[0].startswith("cudnnRNNSetClip_v9: declared before")


def test_function_that_a_release_lacks_is_found(oldest: Headers) -> None:
    declared = _with_function(replace(_function("cudnnRNNSetClip_v9"), since=None))

    problems = prove(oldest.release, oldest.include_dirs, declared)

    assert any("cudnnRNNSetClip_v9" in problem for problem in problems)


@pytest.mark.parametrize("name", ["algo", "data_type", "clip_nan_opt", "aux_flags"])
def test_wrong_value_is_found(newest: Headers, name: str) -> None:
    enum_type = _enum_type(name)
    wrong = replace(enum_type.members[0], value=99)
    declared = _with_enum_type(replace(enum_type, members=(wrong, *enum_type.members[1:])))

    problems = prove(newest.release, newest.include_dirs, declared)

    assert any(wrong.vendor in problem and "99" in problem for problem in problems)


@pytest.mark.parametrize("name", [t.name for t in ENUM_TYPES])
def test_enumerator_unknown_to_the_spec_is_found(newest: Headers, name: str) -> None:
    enum_type = _enum_type(name)
    missing = enum_type.members[-1]
    declared = _with_enum_type(replace(enum_type, members=enum_type.members[:-1]))

    problems = prove(newest.release, newest.include_dirs, declared)

    assert len(problems) == 1
    assert problems[0].startswith(f"{missing.vendor} = ")
    assert "does not know" in problems[0]


def test_enumerator_known_too_early_or_too_late_is_found(newest: Headers, oldest: Headers) -> None:
    data_type = _enum_type("data_type")
    newcomer = data_type.members[-1]
    assert newcomer.since is not None
    early = replace(data_type, members=(*data_type.members[:-1], replace(newcomer, since=None)))
    late = replace(data_type, members=(*data_type.members[:-1], replace(newcomer, since=(99, 0))))

    too_early = prove(oldest.release, oldest.include_dirs, _with_enum_type(early))
    too_late = prove(newest.release, newest.include_dirs, _with_enum_type(late))

    assert f"{newcomer.vendor}: pyharness/spec has it, the headers of this release do not" in (
        too_early
    )
    assert too_late == [
        f"{newcomer.vendor}: in the headers before the release that pyharness/spec gives"
    ]


def test_status_faults_are_found(newest: Headers) -> None:
    statuses = numbering(newest.release)
    without_last = Declared(statuses=lambda _release: statuses[:-1])
    renumbered = Declared(statuses=lambda _release: (Status("SUCCESS", 7), *statuses[1:]))

    unknown = prove(newest.release, newest.include_dirs, without_last)
    wrong = prove(newest.release, newest.include_dirs, renumbered)

    assert len(unknown) == 1
    assert statuses[-1].vendor in unknown[0]
    assert any("CUDNN_STATUS_SUCCESS: is not 7" in problem for problem in wrong)


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        pytest.param(
            "CUDNN_DATA_FLOAT ",
            "CUDNN_DATA_PLANTED = 99, CUDNN_DATA_FLOAT ",
            "CUDNN_DATA_PLANTED = 99: pyharness/spec does not know",
            id="new-data-type",
        ),
        pytest.param(
            "CUDNN_STATUS_BAD_PARAM ", "CUDNN_STATUS_BAD_PARAM_OLD ", "BAD_PARAM", id="renamed"
        ),
        pytest.param(
            "CUDNN_DATA_FLOAT ",
            "CUDNN_DATA_PLANTED = 0x100000000, CUDNN_DATA_FLOAT ",
            "not as wide as int",
            id="wider-enumeration",
        ),
        pytest.param(
            "#define CUDNN_RNN_PADDED_IO_ENABLED (1U << 0)",
            "#define CUDNN_RNN_PADDED_IO_ENABLED (1U << 1)",
            "CUDNN_RNN_PADDED_IO_ENABLED",
            id="flag-moved",
        ),
        pytest.param(
            "#define CUDNN_RNN_PADDED_IO_DISABLED 0",
            "#define CUDNN_RNN_PADDED_IO_DISABLED 0\n#define CUDNN_RNN_PLANTED (1U << 1)",
            "CUDNN_RNN_PLANTED",
            id="new-flag",
        ),
        pytest.param(
            "#define CUDNN_SEV_ERROR_EN (1U << CUDNN_SEV_ERROR)",
            "#define CUDNN_SEV_ERROR_EN (1U << CUDNN_SEV_FATAL)",
            "CUDNN_SEV_ERROR_EN",
            id="severity-moved",
        ),
        pytest.param(
            "double lclip, double rclip",
            "double lclip, float rclip",
            "cudnnRNNSetClip_v9",
            id="new-type",
        ),
    ],
)
def test_change_in_the_headers_is_found(
    newest: Headers, tmp_path: Path, old: str, new: str, found: str
) -> None:
    folder, *others = newest.include_dirs
    copy = tmp_path / "include"
    shutil.copytree(folder, copy)
    hits = [p for p in copy.glob("*.h") if old in p.read_text(encoding="utf-8")]
    assert hits
    for path in hits:
        path.write_text(path.read_text(encoding="utf-8").replace(old, new, 1), encoding="utf-8")

    problems = prove(newest.release, (copy, *others))

    assert any(found in problem for problem in problems), problems


def _function(name: str) -> Function:
    return next(f for f in FUNCTIONS if f.name == name)


def _with_function(function: Function) -> Declared:
    return Declared(functions=tuple(function if f.name == function.name else f for f in FUNCTIONS))


def _enum_type(name: str) -> EnumType:
    return next(t for t in ENUM_TYPES if t.name == name)


def _with_enum_type(enum_type: EnumType) -> Declared:
    return Declared(
        enum_types=tuple(enum_type if t.name == enum_type.name else t for t in ENUM_TYPES)
    )
