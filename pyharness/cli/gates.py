"""How a command ends that ``--fail-on`` makes a gate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import typer

from pyharness.errors import EXIT_GATE, UsageError


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
