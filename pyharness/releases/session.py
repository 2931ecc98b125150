"""One HTTP session with pip's settings applied to it, and what broke it in few words."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyharness.errors import HarnessError
from pyharness.releases.index import SETTINGS_HINT

if TYPE_CHECKING:
    import requests

    from pyharness.releases.pip_config import IndexSettings


def open_session(settings: IndexSettings) -> requests.Session:
    """A session that retries a lost connection and waits at most the configured time.

    Raises  HarnessError if no index may be asked, or the configured CA bundle does not exist.
    """
    if settings.no_index:
        raise HarnessError("pip is configured to use no index", SETTINGS_HINT)
    import requests  # noqa: PLC0415 - slow to import, needed only with the network
    from requests.adapters import HTTPAdapter  # noqa: PLC0415
    from urllib3.util import Retry  # noqa: PLC0415

    class Adapter(HTTPAdapter):
        """An adapter that gives every request the configured time-out."""

        def send(self, *args: Any, **kwargs: Any) -> requests.Response:
            if kwargs.get("timeout") is None:
                kwargs["timeout"] = settings.timeout_s
            return super().send(*args, **kwargs)

    session = requests.Session()
    retry = Retry(total=2, backoff_factor=0.2, status_forcelist=(500, 502, 503, 504))
    for scheme in ("https://", "http://"):
        session.mount(scheme, Adapter(max_retries=retry))
    # requests would otherwise undo it: bytes of a range must arrive as they lie in the wheel
    session.headers["Accept-Encoding"] = "identity"
    if settings.cert is not None:
        if not Path(settings.cert).exists():
            raise HarnessError(
                f"the CA bundle {settings.cert} does not exist",
                "it comes from PIP_CERT or from cert in pip.conf",
            )
        session.verify = settings.cert
    if settings.proxy is not None:
        session.proxies = {"http": settings.proxy, "https": settings.proxy}
    return session


def short_cause(error: BaseException) -> str:
    """Why a request failed, without the host, the URL and the retries around it.

    Returns  a few words: the system's own where it has some; the error's text if nothing of the
             network is behind it.
    """
    import requests  # noqa: PLC0415 - slow to import, needed only with the network
    import urllib3  # noqa: PLC0415

    chain = list(_behind(error))
    for link in chain:
        if isinstance(link, requests.HTTPError) and link.response is not None:
            return f"HTTP {link.response.status_code}"
        if isinstance(link, ssl.SSLError):
            return getattr(link, "verify_message", "") or str(link.reason or "the TLS handshake")
        if isinstance(link, OSError) and link.strerror:
            return link.strerror[0].lower() + link.strerror[1:]
    # only now: to urllib3 a connection that was refused is a kind of time-out
    if any(isinstance(link, (TimeoutError, urllib3.exceptions.TimeoutError)) for link in chain):
        return "no answer in time"
    if any(isinstance(link, (urllib3.exceptions.HTTPError, ConnectionError)) for link in chain):
        return "the connection closed early"
    return str(error) or "the connection closed early"


def _behind(error: BaseException) -> Iterator[BaseException]:
    """An error and every one that it wraps, each once."""
    pending, seen = [error], set[int]()
    while pending:
        current = pending.pop(0)
        if id(current) in seen:
            continue
        seen.add(id(current))
        yield current
        wrapped = [*current.args, getattr(current, "reason", None)]
        wrapped += [current.__cause__, current.__context__]
        pending += [link for link in wrapped if isinstance(link, BaseException)]
