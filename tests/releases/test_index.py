"""What the index offers, and which index is asked."""

from __future__ import annotations

import os
import platform
import sys
from pathlib import Path

import pytest

from pyharness.errors import EXIT_ENVIRONMENT, HarnessError
from pyharness.releases import list_offers
from pyharness.releases.pip_config import read_settings


def test_offers_are_sorted_by_version_and_not_by_text(index) -> None:
    for version in ("9.10.0.56", "9.9.0.52", "8.9.7.29"):
        index.add_cudnn(version)
    index.add_cudnn("9.10.0.56", cuda=11)
    names = [offer.name for offer in list_offers()]
    assert names == ["8.9.7.29+cu12", "9.9.0.52+cu12", "9.10.0.56+cu11", "9.10.0.56+cu12"]


def test_development_versions_are_left_out(index) -> None:
    index.add_cudnn("9.26.0.51")
    index.add_cudnn("9.26.0.33.dev63203437")
    assert [offer.version for offer in list_offers()] == ["9.26.0.51"]


def test_other_architectures_are_left_out(index) -> None:
    other = {"x86_64": "aarch64"}.get(platform.machine(), "x86_64")
    index.add_cudnn("9.26.0.51", machine=other)
    assert list_offers() == []
    index.add_cudnn("9.26.0.51")
    assert [platform.machine() in offer.filename for offer in list_offers()] == [True]


@pytest.mark.parametrize("order", [("", "-2", "-10"), ("-10", "-2", "")])
def test_the_highest_build_of_a_version_is_taken(index, order: tuple[str, ...]) -> None:
    for build in order:
        index.add_cudnn("8.5.0.96", cuda=11, build=build)
    offers = list_offers()
    assert len(offers) == 1
    assert "8.5.0.96-10-py3" in offers[0].filename


def test_an_unreachable_index_is_an_environment_error_that_names_the_settings(offline) -> None:
    with pytest.raises(HarnessError, match="cannot be reached") as caught:
        list_offers()
    assert caught.value.exit_code == EXIT_ENVIRONMENT
    assert "PIP_INDEX_URL" in caught.value.hint


def test_credentials_of_the_index_do_not_reach_the_message(offline, monkeypatch) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", "http://user:secret@127.0.0.1:9/simple/")
    with pytest.raises(HarnessError) as caught:
        list_offers()
    assert "secret" not in str(caught.value)


def test_no_index_is_honoured(index, monkeypatch) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    with pytest.raises(HarnessError, match="no index"):
        list_offers()
    assert index.pages == []


def test_an_extra_index_answers_for_one_that_does_not(index, monkeypatch) -> None:
    index.add_cudnn("9.26.0.51")
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple/")
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", f"file:///nowhere/simple {index.url}")
    assert [offer.version for offer in list_offers()] == ["9.26.0.51"]


def test_a_folder_as_only_index_is_refused_with_a_reason(index, monkeypatch) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", "file:///nowhere/simple")
    with pytest.raises(HarnessError, match="is a folder"):
        list_offers()


def test_a_ca_bundle_that_does_not_exist_is_named(index, monkeypatch) -> None:
    monkeypatch.setenv("PIP_CERT", "/nowhere/ca.pem")
    with pytest.raises(HarnessError, match=r"/nowhere/ca\.pem does not exist"):
        list_offers()


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_configuration_files_override_each_other_as_in_pip(tmp_path: Path) -> None:
    home = tmp_path / "home"
    environ = {"HOME": str(home), "XDG_CONFIG_DIRS": f"{tmp_path}/a:{tmp_path}/b"}
    _write(tmp_path / "b/pip/pip.conf", "[global]\nindex-url = http://b/\ntimeout = 3\n")
    assert read_settings(environ).index_url == "http://b/"
    _write(tmp_path / "a/pip/pip.conf", "[global]\nindex-url = http://a/\n")
    assert read_settings(environ).index_url == "http://a/"
    _write(home / ".pip/pip.conf", "[global]\nindex_url = http://legacy/\n")
    assert read_settings(environ).index_url == "http://legacy/"
    _write(home / ".config/pip/pip.conf", "[global]\nindex-url = http://user/\n")
    assert read_settings(environ).index_url == "http://user/"
    _write(home / ".config/pip/pip.conf", "[install]\nindex-url=http://i/\n[global]\nindex-url=x\n")
    assert read_settings(environ).index_url == "http://i/"
    _write(tmp_path / "own.conf", "[global]\nindex-url = http://own/\n")
    environ["PIP_CONFIG_FILE"] = str(tmp_path / "own.conf")
    assert read_settings(environ).index_url == "http://own/"
    environ["PIP_INDEX_URL"] = "http://env/"
    settings = read_settings(environ)
    assert settings.index_url == "http://env/"
    assert settings.timeout_s == 3.0


def test_dev_null_turns_the_files_off(tmp_path: Path) -> None:
    _write(tmp_path / ".config/pip/pip.conf", "[global]\nindex-url = http://user/\n")
    environ = {"HOME": str(tmp_path), "PIP_CONFIG_FILE": os.devnull}
    assert read_settings(environ).index_url is None


@pytest.mark.parametrize("text", ["not an ini file", "[global]\nx = 1\n[global]\nx = 2\n", "\xff"])
def test_a_broken_configuration_file_is_passed_over(tmp_path: Path, text: str) -> None:
    path = tmp_path / "pip.conf"
    path.write_bytes(text.encode("latin-1"))
    settings = read_settings({"HOME": str(tmp_path), "PIP_CONFIG_FILE": str(path)})
    assert settings.timeout_s > 0


@pytest.mark.parametrize(
    ("text", "expected"), [("1", True), ("yes", True), ("true", True), ("0", False), ("off", False)]
)
def test_no_index_takes_the_words_that_pip_takes(text: str, expected: bool) -> None:
    settings = read_settings({"PIP_CONFIG_FILE": os.devnull, "PIP_NO_INDEX": text})
    assert settings.no_index is expected


@pytest.mark.parametrize("package", ["pypi_simple", "requests"])
def test_a_machine_without_the_packages_for_it_is_told(
    monkeypatch: pytest.MonkeyPatch, package: str
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(HarnessError, match=f"the package index cannot be asked: .*{package}"):
        list_offers()
