"""Where the numbers come from: machine, versions, and the command that made each folder."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pyharness.present.report.model import REPEAT, Column, Row, Section, Source, Table
from pyharness.present.report.sides import library_names, told_releases, typed
from pyharness.present.report.verdict import diff_command
from pyharness.present.report.words import words
from pyharness.present.units import binary_text

FINISHED = ("complete", "")


def machine_section(sources: Sequence[Source]) -> Section:
    """One row a folder, and what each machine was."""
    machines: dict[tuple[Any, ...], Row] = {}
    for source in sources:
        for row in _machines(source):
            machines.setdefault(tuple(row.items()), row)
    folders = [
        Column("title", "folder", kind="code"),
        Column("kind", "holds"),
        Column("releases", "releases"),
        Column("problems", "problems"),
        Column("state", "state"),
        Column("started", "begun"),
        Column("tool", "pyharness"),
    ]
    facts = [
        Column("cpu", "processor"),
        Column("cores", "cores"),
        Column("gpu", "GPU"),
        Column("memory", "its memory", binary_text, "number"),
        Column("driver", "CUDA of its driver"),
        Column("system", "system"),
        Column("python", "Python"),
    ]
    lead = [
        f"{s.title} is not finished ({words(state_of(s))}): what is there is shown."
        for s in sources
        if s.kind != "upgrade" and state_of(s) not in FINISHED
    ]
    called = library_names(sources)
    tables = [Table("Folders", folders, [_folder(s, called) for s in sources])]
    tables.append(Table("Machines", facts, list(machines.values())))
    if environment := list(_environment(sources)):
        names = [Column("name", "variable", kind="code"), Column("value", "value", kind="code")]
        tables.append(Table("Environment that a library reads", names, environment))
    made = [made_by(s) for s in sources]
    return Section(
        "machine",
        "Machine, versions, commands",
        lead,
        tables=tables,
        commands=list(dict.fromkeys(c for c in made if c)),
        emulated=any(_emulated(s) for s in sources),
    )


def made_by(source: Source) -> str:
    """The command that makes a folder again, as far as it tells."""
    if source.kind == "diff":
        return diff_command(source.data)
    return typed(source.run)


def state_of(source: Source) -> str:
    """How far the run came: complete, running, interrupted, …; empty if it does not say."""
    return str(source.run.get("state", ""))


def _emulated(source: Source) -> bool:
    return any(device.get("emulated") for device in _devices(source))


def _devices(source: Source) -> list[Mapping[str, Any]]:
    run = source.run
    return [d for d in (run.get("device"), *(run.get("devices") or ())) if d]


def releases(source: Source, called: Mapping[str, str]) -> list[str]:
    """The releases that a folder is about, the older first.

    ``called``  see library_names.
    """
    if source.kind in ("diff", "upgrade"):
        a, b = source.data["release_a"], source.data["release_b"]
        return [a, b] if a != b else [f"{a} (a)", f"{b} (b)"]
    names = [called.get(str(r.get("path")), r.get("name")) for r in told_releases(source)]
    rows = [row.get("release") for rows in source.tables.values() for row in rows]
    found = [str(name) for name in dict.fromkeys(names) if name]
    return found or [str(release) for release in dict.fromkeys(rows) if release is not None]


def _folder(source: Source, called: Mapping[str, str]) -> dict[str, Any]:
    run = source.run
    space = run.get("space")
    name = source.data.get("space") if source.kind == "diff" else None
    if isinstance(space, Mapping):
        name = space.get("name")
    names = releases(source, called)
    return {
        "title": source.title,
        "kind": source.kind,
        "releases": ", ".join(names) if len(names) <= 4 else f"{len(names)}",
        "problems": name,
        "state": state_of(source) or None,
        "started": moment(run.get("started")),
        "tool": run.get("tool_version"),
        REPEAT: made_by(source),
    }


def moment(text: object) -> str | None:
    """A time of a manifest without its letters: ``2026-11-30 23:52:40 UTC``."""
    return None if text is None else str(text).replace("T", " ").replace("+00:00", " UTC")


def _machines(source: Source) -> Iterator[dict[str, Any]]:
    hosts: list[Mapping[str, Any]] = [h for h in (source.run.get("host"),) if h]
    hosts += [side["host"] for side in source.data.get("sides", ())]
    devices: list[Mapping[str, Any]] = _devices(source) or [{}]
    for host in hosts:
        for device in devices:
            gpu = device.get("name")
            version = device.get("driver_version")
            yield {
                "cpu": host.get("cpu"),
                "cores": host.get("cores"),
                "gpu": f"{gpu} (EMULATED)" if device.get("emulated") else gpu,
                "memory": device.get("memory_bytes"),
                "driver": None if version is None else f"{version // 1000}.{version % 1000 // 10}",
                "system": host.get("system"),
                "python": host.get("python"),
            }


def _environment(sources: Sequence[Source]) -> Iterator[dict[str, str]]:
    found: dict[tuple[str, str], None] = {}
    for source in sources:
        for pair in (source.run.get("environment") or {}).items():
            found.setdefault(pair)
    for name, value in found:
        yield {"name": name, "value": value}
