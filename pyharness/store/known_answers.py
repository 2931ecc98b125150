"""What every release answers, as it ships with the package: small files made from the atlas.

Only the standard library reads them, so that an explanation has them at once.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from pyharness.errors import HarnessError, UsageError
from pyharness.space.grid import Grid, from_labels
from pyharness.spec.columns import SCHEMA_VERSION
from pyharness.store.files import replacing

FAILED_LETTER = "!"
SHIPPED = Path(__file__).with_name("known")


@dataclass(frozen=True)
class KnownCall:
    """The answers of every release of one file to one call.

    ``answers``     the distinct ones: statuses by letter, a class for each value of each axis, a
                    letter for each combination of classes, the last axis fastest.
    ``of_release``  which of them a release has; None: it has no such call.
    """

    call: str
    labels: Mapping[str, Sequence[str]]
    answers: Sequence[Mapping[str, Any]]
    of_release: Sequence[int | None]

    @cached_property
    def grid(self) -> Grid:
        """The problems that were put to the call."""
        return from_labels(self.call, self.labels)

    def status(self, release: int, places: Iterable[int]) -> str | None:
        """What a release that has the call answers at these places of the axes.

        Returns  the status; None where the call failed.
        """
        number = self.of_release[release]
        assert number is not None
        answer = self.answers[number]
        at = 0
        for classes, place in zip(answer["classes"], places, strict=True):
            at = at * (max(classes) + 1) + classes[place]
        letter = answer["cells"][at]
        status: str | None = answer["statuses"].get(letter)
        return status


@dataclass(frozen=True)
class KnownAnswers:
    """One file: its releases, the oldest first, and their answers by call."""

    space: str
    releases: tuple[str, ...]
    calls: Mapping[str, KnownCall]


def write_known(path: Path, data: Mapping[str, Any]) -> None:
    """Writes what read_known reads, whole or not at all.

    Raises  HarnessError if the disk is full.
    """
    with replacing(path) as scratch:
        scratch.write_text(json.dumps(data, separators=(",", ":")) + "\n", "utf-8")


def read_known(folder: Path = SHIPPED) -> list[KnownAnswers]:
    """Every file of a folder, by name; those that ship with the package where none is given.

    Raises  HarnessError if one is damaged, or of a newer schema.
    """
    return [_read(file) for file in sorted(folder.glob("*.json"))]


def _read(file: Path) -> KnownAnswers:
    try:
        data = json.loads(file.read_text("utf-8"))
        if data["schema_version"] > SCHEMA_VERSION:
            raise ValueError(f"schema {data['schema_version']} is newer than {SCHEMA_VERSION}")
        releases = tuple(data["releases"])
        calls = {c["call"]: _checked(KnownCall(**c), len(releases)) for c in data["calls"]}
        return KnownAnswers(data["space"], releases, calls)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, UsageError) as error:
        raise HarnessError(
            f"{file.name}, which ships with pyharness, is damaged: {error}",
            "install pyharness again",
        ) from error


def _checked(known: KnownCall, releases: int) -> KnownCall:
    """The same, if its parts fit each other.

    Raises  ValueError if not.
    """
    if len(known.of_release) != releases:
        raise ValueError(f"{known.call} has {len(known.of_release)} releases of {releases}")
    if any(n is not None and not 0 <= n < len(known.answers) for n in known.of_release):
        raise ValueError(f"{known.call} lacks an answer")
    lengths = [len(labels) for labels in known.labels.values()]
    for answer in known.answers:
        classes, cells = answer["classes"], answer["cells"]
        if [len(c) for c in classes] != lengths:
            raise ValueError(f"{known.call} has other axes than its answers")
        if math.prod(max(c) + 1 for c in classes) != len(cells):
            raise ValueError(f"{known.call} lacks cells")
        if set(cells) - {*answer["statuses"], FAILED_LETTER}:
            raise ValueError(f"{known.call} has a status without a name")
    return known
