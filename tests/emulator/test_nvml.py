"""The emulated libnvidia-ml, through nvidia-ml-py."""

from __future__ import annotations

from tests.emulator.play import Answer


def test_nvml_knows_the_card_before_anything_ran(answer: Answer) -> None:
    said = answer("nvml_scenes:nvml", "00000000:10:00.0", devices=2, name="A card")
    assert said == {
        "count": 2,
        "same": True,
        "name": "A card",
        "sm": 210,
        "memory": 1215,
        "reasons": 1,  # idle
        "old reasons": 1,
        "temperature": 35,
        "milliwatts": 60000,
        "driver": "emulated.12080",
    }


def test_nvml_shows_when_passes_are_throttled(answer: Answer) -> None:
    seen = answer("nvml_scenes:work_and_look", 4, throttle="after:1,for:2,factor:3")
    hot = [470, 0x40, 92]  # 1410 MHz by 3
    assert seen == [[1410, 0, 61], hot, hot, [1410, 0, 61]]


def test_nvml_of_another_process_sees_the_card_that_works(answer: Answer) -> None:
    settings = {"devices": 2, "throttle": "after:2,for:1,factor:2"}
    assert answer("nvml_scenes:work", 3, 1, **settings) is True
    seen = [answer("nvml_scenes:nvml", f"0000:1{card}:00.0", devices=2) for card in (0, 1)]
    assert [(said["sm"], said["reasons"]) for said in seen] == [(210, 1), (705, 0x40)]


def test_nvml_refuses(answer: Answer) -> None:
    said = answer("nvml_scenes:nvml_errors")
    assert said == ["Uninitialized", "Invalid Argument", "Not Found", "Not Supported"]
