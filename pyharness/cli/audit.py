"""``pyharness audit``: what documents say, tried on the library."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Optional

import typer

from pyharness.cli.options import Device, Json, NoDevice, Timeout, device_choice

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyharness.analyze.findings import Audit
    from pyharness.spec.documented import Framework, Rule


def command(
    cudnn: Annotated[
        Optional[list[str]],  # noqa: UP045 - typer reads the annotation at run time, on 3.10 too
        typer.Option(
            "--cudnn",
            help="Release, as for `pyharness try`. Repeatable.",
            metavar="RELEASE",
        ),
    ] = None,
    all_cached: Annotated[
        bool, typer.Option("--all-cached", help="Every release that is cached here.")
    ] = False,
    all_releases: Annotated[
        bool,
        typer.Option("--all-releases", help="Every release on the index, fetched where need be."),
    ] = False,
    rule: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Option("--rule", help="Only this rule, in full. Repeatable.", metavar="ID"),
    ] = None,
    out: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option("--out", help="Folder for audit.parquet and README.md.", metavar="DIR"),
    ] = None,
    fail_on: Annotated[
        str,
        typer.Option(
            "--fail-on",
            help="Exit with 3 if any rule comes to one of these: contradicted, partly, holds, "
            "needs_a_gpu, cannot_be_told, not_applicable; of frameworks: wider, narrower, agrees.",
            metavar="VERDICT,…",
        ),
    ] = "",
    device: Device = None,
    no_device: NoDevice = False,
    timeout: Timeout = 10.0,
    json: Json = False,
) -> None:
    """Try documented rules, and rules of thumb of frameworks, on a release.

    Verdicts: holds, every problem that counts is answered as the rule says; contradicted, all are
    answered otherwise; partly, some are, and the condition says which; needs_a_gpu, the host lets
    it pass and a later call, or only the results, would show it; cannot_be_told, nothing shows it;
    not_applicable, the rule speaks of other releases. A refused problem counts only where another
    rule cannot have refused it. Where there is a GPU, what needs one is tried there, case by case.
    """
    from contextlib import ExitStack

    from pyharness.analyze.verdicts import AGREEMENTS, VERDICTS
    from pyharness.api.audit_files import audit_folder, write_audit
    from pyharness.api.auditing import audit_releases
    from pyharness.cli.gates import gates_of
    from pyharness.cli.progress import shown
    from pyharness.errors import EXIT_ENVIRONMENT, EXIT_GATE
    from pyharness.present.audit import render_audit, render_page
    from pyharness.present.audit_data import audit_data
    from pyharness.present.jsons import dumps
    from pyharness.spec.documented.rules import load_contradictions

    choice = device_choice(device, no_device)
    gates = gates_of(fail_on, "verdict", (*VERDICTS, *AGREEMENTS))
    rules, frameworks = _chosen(rule or [])
    names = _releases(cudnn or [], all_cached, all_releases)
    contradictions = load_contradictions()
    with ExitStack() as stack:
        if out is not None:
            stack.enter_context(audit_folder(out))
        with shown("rules") as progress:
            audits, failed = audit_releases(names, rules, frameworks, progress, timeout, choice)
        text = render_audit(audits, contradictions, in_full=bool(rule))
        if out is not None:
            sets = ["--all-cached"] * all_cached + ["--all-releases"] * all_releases
            named = cudnn or [] if sets else [a.release for a in audits]
            asked = [*_repeated("--cudnn", named), *sets, *_repeated("--rule", rule or [])]
            asked += ["--no-device"] * no_device
            asked += [] if device is None else ["--device", str(device)]
            words = shlex.join(["pyharness", "audit", *asked, "--out", str(out)])
            devices = sorted({f.device for a in audits for f in a.findings if f.device})
            page = render_page(text, words, _remark(audits) if sets else "", devices)
            write_audit(audits, page, out)
    typer.echo(dumps(audit_data(audits, contradictions)) if json else text)
    for audit in audits:
        if audit.no_device:
            words = f"what needs a GPU was not tried on {audit.release}: {audit.no_device}"
            typer.echo(words, err=True)
    for name, why in failed:
        typer.echo(f"not audited: {name}: {why}", err=True)
    found = [(g, n) for g in gates if (n := sum(a.count(g) for a in audits))]
    if found:
        typer.echo(f"gate: {', '.join(f'{g} ({n:,})' for g, n in found)}", err=True)
        raise typer.Exit(EXIT_GATE)
    if failed:
        raise typer.Exit(EXIT_ENVIRONMENT)


def _repeated(option: str, values: Sequence[str]) -> list[str]:
    return [word for value in values for word in (option, value)]


def _remark(audits: Sequence[Audit]) -> str:
    """What a set of releases came to, since it grows."""
    from pyharness.present.units import count_text
    from pyharness.store.manifest import now

    return f"On {now()[:10]} that came to {count_text(len(audits), 'release')}."


def _chosen(wanted: Sequence[str]) -> tuple[list[Rule], list[Framework]]:
    """The rules of these ids; all where none is given."""
    from pyharness.errors import unknown_name
    from pyharness.spec.documented.rules import load_frameworks, load_rules

    rules, frameworks = list(load_rules()), load_frameworks()
    known = [r.id for r in rules] + [f.id for f in frameworks]
    for name in wanted:
        if name not in known:
            raise unknown_name("rule", name, known)
    if not wanted:
        return rules, frameworks
    return [r for r in rules if r.id in wanted], [f for f in frameworks if f.id in wanted]


def _releases(named: Sequence[str], all_cached: bool, all_releases: bool) -> list[str]:
    """The releases asked for, each once.

    Raises  UsageError if none is.
    """
    from pyharness.errors import UsageError
    from pyharness.releases import list_cached
    from pyharness.releases.index import offered_versions

    names = list(named)
    if all_releases:
        names += offered_versions()
    if all_cached:
        names += [c.name for c in list_cached()]
    if not names:
        raise UsageError(
            "no release to audit",
            "give --cudnn RELEASE, --all-cached or --all-releases"
            if not all_cached
            else "none is cached: give --cudnn RELEASE or --all-releases",
        )
    return list(dict.fromkeys(names))
