"""Why a library cannot be used here, and the command that mends it."""

from __future__ import annotations

from pyharness.engine.crew import Collapse
from pyharness.errors import HarnessError
from pyharness.releases.dependencies import missing_dependencies
from pyharness.releases.model import Release


def missing_libraries(release: Release) -> tuple[str, str]:
    """What a release needs and does not find.

    Returns  (what is missing, how to get it); both empty when nothing is.
    """
    missing = missing_dependencies(release.path)
    if not missing:
        return "", ""
    what = "; ".join(f"{m.needed_by} needs {m.library}, which is not found" for m in missing)
    if release.version is not None:
        how = (
            f"`pyharness fetch {release.name}` brings the release with all that it needs; "
            f"then use --cudnn {release.name}"
        )
    else:
        hints = sorted({m.package_hint for m in missing if m.package_hint})
        how = (
            f"it comes with {', '.join(hints) or 'the CUDA toolkit'}: put its folder into "
            "LD_LIBRARY_PATH, or use a fetched release, which has all that it needs"
        )
    return what, how


def explain_collapse(release: Release, collapse: Collapse) -> HarnessError:
    """The error of a sweep that no worker survived, with the missing library if that is why.

    Returns  an error to raise.
    """
    what, how = ("", "") if collapse.answered else missing_libraries(release)
    said = f"it said: {collapse.hint}" if collapse.hint else ""
    hint = "\n".join(part for part in (what, how, said) if part)
    return HarnessError(collapse.message, hint)
