"""``pyharness try``: one problem through every host call."""

from __future__ import annotations

from typing import Annotated

import typer

from pyharness.cli.options import Cudnn, Json, Timeout


def command(
    cudnn: Cudnn,
    problem: Annotated[
        list[str],
        typer.Argument(
            help="key=value words, for example cell_mode=lstm hidden_size=256 "
            "seq_lengths=[5,3,0]; what is not given has its default.",
            metavar="KEY=VALUE…",
        ),
    ],
    timeout: Timeout = 10.0,
    json: Json = False,
) -> None:
    """Put one problem through every call that needs no GPU; print status and reason of each."""
    from pyharness.api.progress import fetching
    from pyharness.api.trying import try_calls
    from pyharness.cli.progress import shown
    from pyharness.present.jsons import dumps
    from pyharness.present.trying import render_try, try_data
    from pyharness.releases.locate import resolve
    from pyharness.spec.problem import parse_problem

    described = parse_problem(problem)
    with shown("bytes") as progress:
        release = resolve(cudnn, progress=fetching(cudnn, progress))
    results = try_calls(release, described, timeout)
    if json:
        typer.echo(dumps(try_data(release.name, described, results)))
    else:
        typer.echo(render_try(release.name, described, results))
