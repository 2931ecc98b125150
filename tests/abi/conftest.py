"""One test for each release on the index; its headers come from the cache, or are fetched once."""

from __future__ import annotations

import pytest

from pyharness.errors import HarnessError
from pyharness.releases import Offer

from .headers import Headers, chosen_offers, fetch_all


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give a test that asks for ``offer`` every release; without a list, one that fails."""
    if "offer" not in metafunc.fixturenames:
        return
    try:
        offers = chosen_offers()
    except HarnessError as error:
        metafunc.parametrize("offer", [pytest.param(error, id="no-list-of-releases")])
    else:
        metafunc.parametrize("offer", offers, ids=[offer.name for offer in offers])


@pytest.fixture(scope="session")
def found_headers() -> dict[str, Headers | HarnessError]:
    """The headers of every release; for one that cannot be had, why."""
    try:
        return fetch_all(chosen_offers())
    except HarnessError as error:
        reason = str(error)
    pytest.fail(reason, pytrace=False)  # outside, so that the message stands alone


@pytest.fixture
def headers(offer: Offer | HarnessError, request: pytest.FixtureRequest) -> Headers:
    """The headers of one release; a release that cannot be had is a failure, never a skip."""
    if isinstance(offer, HarnessError):
        pytest.fail(str(offer), pytrace=False)
    return _present(request.getfixturevalue("found_headers")[offer.name])


@pytest.fixture
def oldest(found_headers: dict[str, Headers | HarnessError]) -> Headers:
    """The headers of the oldest release."""
    return _present(next(iter(found_headers.values())))


@pytest.fixture
def newest(found_headers: dict[str, Headers | HarnessError]) -> Headers:
    """The headers of the newest release."""
    return _present(next(reversed(found_headers.values())))


def _present(headers: Headers | HarnessError) -> Headers:
    if isinstance(headers, HarnessError):
        pytest.fail(str(headers), pytrace=False)
    return headers
