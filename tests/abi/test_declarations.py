"""csrc/abi/functions.hpp and pyharness/spec say the same of each other; no vendor header needed."""

from __future__ import annotations

import re

import pytest

from pyharness.spec.enums import ENUM_TYPES, EnumType
from pyharness.spec.functions import FUNCTIONS, Function

from .proof import FUNCTIONS_HPP

TEXT = FUNCTIONS_HPP.read_text(encoding="utf-8")
DECLARED = {
    name: [p.strip() for p in parameters.split(",")]
    for name, parameters in re.findall(r"using (cudnn\w+) =[^(;]*\(([^;]*)\);", TEXT)
}
LISTED = {name: kind for kind, name in re.findall(r"\b(REQUIRED|OPTIONAL)\((cudnn\w+)\)", TEXT)}


def test_the_same_functions_everywhere() -> None:
    names = [function.name for function in FUNCTIONS]
    assert len(set(names)) == len(names)
    assert set(DECLARED) == set(names)
    assert set(LISTED) == set(names)


def test_a_function_that_some_release_lacks_is_optional() -> None:
    required_but_absent = [
        f.name for f in FUNCTIONS if f.since is not None and LISTED[f.name] == "REQUIRED"
    ]
    assert required_but_absent == []


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.name)
def test_our_parameter_names_fit_the_vendors_types(function: Function) -> None:
    """int hides which enumeration a parameter takes: our name for it must say the right one."""
    vendor_types = {t.name: t.vendor for t in ENUM_TYPES} | {"math_prec": "cudnnDataType_t"}
    for ours, vendor_type in zip(DECLARED[function.name], function.parameters, strict=False):
        *_, name = ours.split()
        if name in vendor_types:
            assert vendor_types[name] == vendor_type


@pytest.mark.parametrize("enum_type", ENUM_TYPES, ids=lambda t: t.name)
def test_names_and_values_of_an_enumeration_are_distinct(enum_type: EnumType) -> None:
    everything = (*enum_type.members, *enum_type.markers)
    for field in ("name", "value", "vendor"):
        values = [getattr(member, field) for member in everything]
        assert len(set(values)) == len(values)
