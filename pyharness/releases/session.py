"""One HTTP session with pip's settings applied to it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyharness.errors import HarnessError

if TYPE_CHECKING:
    import requests

    from pyharness.releases.pip_config import IndexSettings


def open_session(settings: IndexSettings) -> requests.Session:
    """A session that retries a lost connection and waits at most the configured time.

    Raises  HarnessError if the configured CA bundle does not exist.
    """
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
