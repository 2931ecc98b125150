"""``pyharness releases``: what the index offers, and what is on this machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from pyharness.cli.options import Json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyharness.present.releases import ReleaseRow
    from pyharness.releases import CachedRelease, InstalledLibrary, Offer

Offline = Annotated[
    bool, typer.Option("--offline", help="Do not ask the package index: only what is here.")
]


def command(json: Json = False, offline: Offline = False) -> None:
    """List the releases that can be fetched, and those that are cached or installed."""
    from pyharness.cli.screen import screen_width
    from pyharness.errors import HarnessError
    from pyharness.present.releases import render_releases
    from pyharness.releases import cache_dir, list_cached, list_installed, list_offers
    from pyharness.releases.cache import held_bytes

    offers: list[Offer] | None = None
    problem = "the package index was not asked (--offline)"
    hint = ""
    if not offline:
        try:
            offers = list_offers()
        except HarnessError as error:
            problem, hint = error.message, error.hint
    cached, installed = list_cached(), list_installed()
    rows = _rows(offers or [], cached, installed)
    if not rows and offers is None:
        raise HarnessError(f"{problem}, and no release is cached or installed", hint)
    asked = None if offers is not None else problem
    if json:
        typer.echo(_as_json(rows, asked))
    else:
        held = held_bytes(cached)
        typer.echo(render_releases(rows, str(cache_dir()), held, asked, screen_width()))


def _rows(
    offers: Sequence[Offer],
    cached: Sequence[CachedRelease],
    installed: Sequence[InstalledLibrary],
) -> list[ReleaseRow]:
    """One row for each version, the newest last; a library of unknown version comes first."""
    from pyharness.present.releases import Cached, Installed, ReleaseRow
    from pyharness.releases.model import version_key

    versions: set[str | None] = {offer.version for offer in offers}
    versions |= {entry.version for entry in cached} | {library.version for library in installed}
    return [
        ReleaseRow(
            version=version,
            offered=tuple(sorted(o.cuda_major for o in offers if o.version == version)),
            yanked=tuple(o.cuda_major for o in offers if o.version == version and o.yanked),
            cached=tuple(
                Cached(c.name, c.cuda_major, c.full, c.size_bytes, str(c.release().path))
                for c in sorted(cached, key=lambda c: c.cuda_major)
                if c.version == version
            ),
            installed=tuple(
                Installed(i.cuda_major, i.source, str(i.path.parent), str(i.path))
                for i in installed
                if i.version == version
            ),
        )
        for version in sorted(versions, key=version_key)
    ]


def _as_json(rows: Sequence[ReleaseRow], index_problem: str | None) -> str:
    from dataclasses import asdict

    from pyharness.present.jsons import dumps
    from pyharness.releases import cache_dir

    return dumps(
        {
            "index": {"reached": index_problem is None, "problem": index_problem},
            "cache": str(cache_dir()),
            "releases": [asdict(row) for row in rows],
        }
    )
