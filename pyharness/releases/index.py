"""What the package index offers."""

from __future__ import annotations

import contextlib
import platform
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyharness.errors import HarnessError
from pyharness.releases.model import is_plain, release_key, release_name, version_key
from pyharness.releases.pip_config import IndexSettings, read_settings

if TYPE_CHECKING:
    from packaging.utils import BuildTag
    from pypi_simple import DistributionPackage, PyPISimple

CUDA_MAJORS = (11, 12, 13)
SETTINGS_HINT = (
    "the index comes from PIP_INDEX_URL, PIP_EXTRA_INDEX_URL and PIP_NO_INDEX or from index-url in "
    "pip.conf; HTTPS_PROXY and PIP_CERT apply; cached releases go on working"
)


@dataclass(frozen=True, slots=True)
class Offer:
    """One wheel on the index, right for this machine.

    ``size_bytes`` of the whole wheel; None when the index does not tell.
    """

    package: str
    version: str
    cuda_major: int
    filename: str
    url: str
    size_bytes: int | None = None
    yanked: bool = False

    @property
    def name(self) -> str:
        """The release as people write it: ``9.28.0.42+cu12``."""
        return release_name(self.version, self.cuda_major)


def list_offers() -> list[Offer]:
    """Every cuDNN release on the index for this machine's architecture.

    Returns  offers, the oldest first; one for each version and CUDA major, development versions
             left out, of several builds the newest.
    Raises   HarnessError if no index answers, or none is allowed.
    """
    names = {f"nvidia-cudnn-cu{major}": major for major in CUDA_MAJORS}
    offers = find_wheels(names)
    return sorted(offers, key=lambda o: release_key(o.version, o.cuda_major))


def offered_versions() -> list[str]:
    """Every version on the index that was not taken back, the oldest first.

    Raises  HarnessError as list_offers does.
    """
    return list(dict.fromkeys(offer.version for offer in list_offers() if not offer.yanked))


def newest_wheel(package: str, cuda_major: int) -> Offer:
    """The newest wheel of a package for one CUDA major.

    Raises  HarnessError if the index has none, or does not answer.
    """
    offers = [o for o in find_wheels({package: cuda_major}) if _major(o) == cuda_major]
    if not offers:
        raise HarnessError(
            f"the index has no {package} {cuda_major}.x for {platform.machine()}", SETTINGS_HINT
        )
    return max(offers, key=lambda o: version_key(o.version))


def find_wheels(packages: dict[str, int]) -> list[Offer]:
    """The wheels of some packages (name to CUDA major) on every configured index.

    Raises  HarnessError if no index answers, or none is allowed, or what asks it is not installed.
    """
    try:  # slow to import, needed only with the network
        import requests  # noqa: PLC0415
        from pypi_simple import PyPISimple  # noqa: PLC0415
        from pypi_simple.errors import (  # noqa: PLC0415
            NoSuchProjectError,
            UnsupportedContentTypeError,
            UnsupportedRepoVersionError,
        )
    except ImportError as error:
        raise HarnessError(
            f"the package index cannot be asked: {error}",
            "pip install pypi-simple remotezip; what is cached or installed goes on working",
        ) from error

    from pyharness.releases.session import open_session, short_cause  # noqa: PLC0415

    settings = read_settings()
    found: list[Offer] = []
    failures: list[str] = []
    answered = False
    with open_session(settings) as session:
        for endpoint in _endpoints(settings):
            client = (
                PyPISimple(endpoint, session=session) if endpoint else PyPISimple(session=session)
            )
            try:
                for package, cuda_major in packages.items():
                    with contextlib.suppress(NoSuchProjectError):
                        found += _wheels(client, package, cuda_major)
                answered = True
            except (
                requests.RequestException,
                UnsupportedContentTypeError,
                UnsupportedRepoVersionError,
                ValueError,
            ) as error:
                failures.append(f"{_host(client.endpoint)}: {short_cause(error)}")
    if not answered:
        raise HarnessError(
            f"the package index cannot be reached ({'; '.join(failures)})", SETTINGS_HINT
        )
    return _best_builds(found)


def _endpoints(settings: IndexSettings) -> Sequence[str | None]:
    """The indexes to ask; None stands for pypi_simple's own default."""
    first = settings.index_url
    if first is not None and first.lower().startswith("file:"):
        if not settings.extra_urls:
            raise HarnessError(
                f"the index {first} is a folder; wheels are read in parts over HTTP only",
                SETTINGS_HINT,
            )
        return settings.extra_urls
    return [first, *settings.extra_urls]


def _wheels(client: PyPISimple, package: str, cuda_major: int) -> Iterable[Offer]:
    for item in client.get_project_page(package).packages:
        version = item.version
        if item.package_type != "wheel" or version is None or not is_plain(version):
            continue
        if _runs_here(item):
            yield Offer(
                package=package,
                version=version,
                cuda_major=cuda_major,
                filename=item.filename,
                url=item.url,
                size_bytes=item.size,
                yanked=item.is_yanked,
            )


def _runs_here(item: DistributionPackage) -> bool:
    """Whether one of the wheel's platform tags is Linux on this machine's architecture."""
    platforms = item.filename.removesuffix(".whl").rsplit("-", 1)[-1].split(".")
    machine = platform.machine()
    return any(
        p.startswith(("manylinux", "linux")) and p.endswith(f"_{machine}") for p in platforms
    )


def _best_builds(offers: Iterable[Offer]) -> list[Offer]:
    """One wheel for each package and version: the one with the highest build tag."""
    best: dict[tuple[str, str], Offer] = {}
    for offer in offers:
        key = (offer.package, offer.version)
        if key not in best or _build(offer) > _build(best[key]):
            best[key] = offer
    return list(best.values())


def _build(offer: Offer) -> BuildTag:
    from packaging.utils import InvalidWheelFilename, parse_wheel_filename  # noqa: PLC0415

    try:
        return parse_wheel_filename(offer.filename)[2]
    except InvalidWheelFilename:
        return ()


def _major(offer: Offer) -> int:
    return int(offer.version.split(".", 1)[0])


def _host(url: str) -> str:
    """The index without credentials that its URL may hold."""
    from urllib.parse import urlsplit  # noqa: PLC0415

    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.hostname}{f':{parts.port}' if parts.port else ''}{parts.path}"
