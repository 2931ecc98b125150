"""How a command ends that ``--fail-on`` makes a gate."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import typer

from pyharness.errors import EXIT_GATE, UsageError, unknown_name


def gates_of(text: str, kind: str, known: Collection[str]) -> list[str]:
    """The gates that ``--fail-on`` names.

    ``kind``  what such a name is called.
    Raises    UsageError for an unknown one.
    """
    gates = [g.strip() for g in text.split(",") if g.strip()]
    for gate in gates:
        if gate not in known:
            raise unknown_name(kind, gate, known)
    return gates


def leave_by(gates: Sequence[str], counts: Mapping[str, int], untold: Mapping[str, str]) -> None:
    """Ends the command if its gates say so.

    ``counts``  how often each gate's name occurs.
    ``untold``  gates of which nothing can be said, and why.
    Raises      typer.Exit if a gate is met; UsageError if none is and one cannot be told.
    """
    if found := [f"{gate} ({counts[gate]:,})" for gate in gates if counts[gate]]:
        typer.echo(f"gate: {', '.join(found)}", err=True)
        raise typer.Exit(EXIT_GATE)
    for gate in gates:
        if gate in untold:
            raise UsageError(
                f"it cannot be told whether anything is {gate}: {untold[gate]}",
                "give problems that this device can run, or leave the gate out",
            )
