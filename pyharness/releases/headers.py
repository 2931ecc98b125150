"""Fetch the C headers of a release: a few hundred kB, without its libraries."""

from __future__ import annotations

import re
from contextlib import ExitStack
from pathlib import Path

from pyharness.releases.index import Offer, newest_wheel
from pyharness.releases.pip_config import read_settings
from pyharness.releases.wheel import is_file_of, open_wheel

# cuda_runtime.h and the crt/ headers that it includes come in two packages
_CUDA_PACKAGES = {
    11: ("nvidia-cuda-runtime-cu11", "nvidia-cuda-nvcc-cu11"),
    12: ("nvidia-cuda-runtime-cu12", "nvidia-cuda-nvcc-cu12"),
    13: ("nvidia-cuda-runtime", "nvidia-cuda-crt"),
}
_VERSIONED_TWIN = re.compile(r"_v\d+\.h$")
_DONE = ".complete"


def fetch_headers(offer: Offer, dest: Path) -> list[Path]:
    """Bring the headers of a release and of its CUDA runtime to a folder.

    The CUDA headers are shared by the releases of one major; what is there is not fetched again.

    Returns  include folders, in the order in which a compiler should search them.
    Raises   HarnessError without network, or with a header that fails its checksum.
    """
    from pyharness.releases.session import open_session  # noqa: PLC0415 - only with the network

    own = dest / offer.name
    shared = dest / f"cuda-{offer.cuda_major}"
    with ExitStack() as stack:
        session = None
        for folder in (own, shared):
            if (folder / _DONE).exists():
                continue
            session = session or stack.enter_context(open_session(read_settings()))
            sources = (
                [offer]
                if folder == own
                else [
                    newest_wheel(package, offer.cuda_major)
                    for package in _CUDA_PACKAGES[offer.cuda_major]
                ]
            )
            for source in sources:
                with open_wheel(source, session) as wheel:
                    for member in wheel.members(_is_header):
                        if not is_file_of(folder / member.path, member):
                            wheel.extract(member, folder, lambda _size: None)
            (folder / _DONE).touch()
    return [path for folder in (own, shared) for path in sorted(folder.glob("nvidia/*/include"))]


def _is_header(path: str) -> bool:
    """Whether a member is a header; twins such as cudnn_v9.h, which nothing includes, are not."""
    header = "/include/" in path and path.endswith((".h", ".hpp"))
    return header and _VERSIONED_TWIN.search(path) is None
