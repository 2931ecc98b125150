"""The documented rules, as the data files of this folder hold them.

A file groups rules by the calls that they speak of. What a rule says is in ``says``; ``when`` is
true of the problems that it is about:

    BAD_PARAM, NOT_SUPPORTED, INVALID_VALUE   they are refused with this status
    unstated                                  they break a requirement; no status is named
    accepted                                  they are accepted
    effect                                    they are accepted, and ``effect`` is what comes of it
    absent                                    the functions do not exist
    declared                                  a header says so; no answer of a call can show it
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import Any, Literal, get_args

from pyharness.errors import UsageError
from pyharness.spec.documented.facts import HOST_CALLS
from pyharness.spec.documented.language import Predicate, parse_predicate
from pyharness.spec.enums import ReleaseNumber

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

Grade = Literal["A", "B", "C", "M"]
GRADES: Mapping[Grade, str] = {
    "A": "NVIDIA's own header or page was read",
    "B": "a third party's copy or transcription of NVIDIA's documentation",
    "C": "a third party's statement or code, not NVIDIA's text",
    "M": "from memory, not read again",
}
REFUSALS = ("BAD_PARAM", "NOT_SUPPORTED", "INVALID_VALUE")
STATUSES = (*REFUSALS, "unstated", "accepted", "effect", "absent", "declared")
RULE_FILES = ("descriptor", "clip", "data", "sizes", "running", "weights")

_FOLDER = resources.files("pyharness.spec") / "documented"


@dataclass(frozen=True, slots=True)
class Rule:
    """One documented rule.

    ``calls``   C names: where it may show.
    ``when``    the problems that it is about.
    ``status``  one of STATUSES.
    ``says``    the rule in a plain sentence.
    ``source``  where it was read, in words.
    ``since``, ``before``  first release, and first release no more, that it speaks of.
    ``versions``  the same as the source has it.
    ``effect``  what comes of it, for status effect.
    ``sign``    what the host shows of an effect: of the problems that also fulfil this, those of
                ``when`` are accepted and the others refused.
    ``space``   axis texts to try it over, where those that an audit makes of ``when`` do not do.
    ``review``  what was mended, and why.
    """

    id: str
    calls: tuple[str, ...]
    when: Predicate
    status: str
    says: str
    source: str
    grade: Grade
    since: ReleaseNumber | None = None
    before: ReleaseNumber | None = None
    versions: str = "all"
    effect: str = ""
    sign: Predicate | None = None
    space: Mapping[str, str] | None = None
    note: str = ""
    review: str = ""

    @property
    def host_calls(self) -> tuple[str, ...]:
        """Its calls that are answered without a GPU."""
        return tuple(c for c in self.calls if c in HOST_CALLS)

    @property
    def later_calls(self) -> tuple[str, ...]:
        """Its calls that need a GPU."""
        return tuple(c for c in self.calls if c not in HOST_CALLS)

    @property
    def meaning(self) -> str:
        """What the grade means."""
        return GRADES[self.grade]

    @property
    def outcome(self) -> str:
        """What the document says becomes of these problems, in words."""
        match self.status:
            case "unstated":
                return "required; no status is named"
            case "effect":
                return f"accepted; {self.effect}"
            case "absent":
                return "no such function"
            case "accepted" | "declared":
                return self.status
            case _:
                return f"refused with {self.status}"

    def covers(self, version: ReleaseNumber) -> bool:
        """Whether it speaks of a release at all."""
        return _between(version, self.since, self.before)


@dataclass(frozen=True, slots=True)
class Contradiction:
    """A question on which documents differ.

    ``rules``   ids of the rules that answer it.
    ``gpu``     why only a run can settle what the host leaves open; empty if it leaves nothing.
    """

    id: str
    question: str
    rules: tuple[str, ...]
    gpu: str


@dataclass(frozen=True, slots=True)
class Framework:
    """When a framework chooses an algorithm, or cuDNN at all.

    ``chooses``  what it then does, in words.
    ``when``     the problems for which it does, as far as a problem says it.
    ``device``   what it asks of the GPU or of the program beside; None: nothing.
    ``among``    the problems that are compared: those that it can hand over at all.
    ``sets``     axis texts that it always hands over then.
    ``space``    axis texts to compare over.
    ``since``    first release for which it does.
    """

    id: str
    framework: str
    chooses: str
    when: Predicate
    device: Predicate | None
    among: Predicate
    sets: Mapping[str, str]
    space: Mapping[str, str]
    source: str
    since: ReleaseNumber | None = None

    @property
    def versions(self) -> str:
        """The releases for which it chooses so."""
        return "all" if self.since is None else f"{'.'.join(map(str, self.since))} and later"

    def covers(self, version: ReleaseNumber) -> bool:
        """Whether it chooses so for a release."""
        return _between(version, self.since, None)

    @property
    def says(self) -> str:
        """The rule in a plain sentence."""
        return f"{self.framework} chooses {self.chooses}"


def _between(
    version: ReleaseNumber, since: ReleaseNumber | None, before: ReleaseNumber | None
) -> bool:
    return (since is None or version >= since) and (before is None or version < before)


def parse_version(text: str) -> ReleaseNumber:
    """(9, 13) for "9.13"."""
    return tuple(int(part) for part in text.split("."))


def _read(name: str) -> dict[str, Any]:
    data: dict[str, Any] = tomllib.loads((_FOLDER / f"{name}.toml").read_text("utf-8"))
    return data


@lru_cache(1)
def _sources() -> Mapping[str, str]:
    keys: Mapping[str, str] = _read("sources")["sources"]
    return keys


def _source_words(texts: list[str]) -> str:
    """The sources written out: "JL" or "D75: feature table"."""
    words = []
    for text in texts:
        key, colon, rest = text.partition(":")
        words.append(_sources()[key] + (f" ({rest.strip()})" if colon else ""))
    return "; ".join(words)


def _rule(group: Mapping[str, Any], data: Mapping[str, Any]) -> Rule:
    status = data["status"]
    if status not in STATUSES or data["grade"] not in get_args(Grade):
        raise UsageError(
            f"rule {data['id']}: {status} or {data['grade']} is not known",
            f"statuses: {', '.join(STATUSES)}; grades: {', '.join(GRADES)}",
        )
    optional = {k: data[k] for k in ("versions", "effect", "space", "note", "review") if k in data}
    return Rule(
        id=data["id"],
        calls=tuple(group["calls"]),
        when=parse_predicate(data["when"]),
        status=status,
        says=data["says"],
        source=_source_words(data["source"]),
        grade=data["grade"],
        since=parse_version(data["since"]) if "since" in data else None,
        before=parse_version(data["before"]) if "before" in data else None,
        sign=parse_predicate(data["sign"]) if "sign" in data else None,
        **optional,
    )


@lru_cache(len(RULE_FILES))
def _rules_of(name: str) -> tuple[Rule, ...]:
    return tuple(_rule(group, r) for group in _read(name)["group"] for r in group["rule"])


def load_rules() -> Iterator[Rule]:
    """Every rule, in the order of the files.

    Raises  UsageError if a file is wrong.
    """
    for name in RULE_FILES:
        yield from _rules_of(name)


def load_contradictions() -> list[Contradiction]:
    """The questions on which the documents differ."""
    return [
        Contradiction(d["id"], d["question"], tuple(d["rules"]), d.get("gpu", ""))
        for d in _read("contradictions")["contradiction"]
    ]


def load_frameworks() -> list[Framework]:
    """The rules of thumb of frameworks."""
    return [
        Framework(
            d["id"],
            d["framework"],
            d["chooses"],
            parse_predicate(d["when"]),
            parse_predicate(d["device"]) if "device" in d else None,
            parse_predicate(d["among"]),
            d.get("sets", {}),
            d["space"],
            _source_words(d["source"]),
            parse_version(d["since"]) if "since" in d else None,
        )
        for d in _read("frameworks")["framework"]
    ]
