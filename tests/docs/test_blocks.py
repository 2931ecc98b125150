"""What is read out of a page, and what counts as the same output."""

from pathlib import Path

import pytest

from tests.docs.blocks import blocks, matches

PAGE = """# A page

<!-- run: gpu; exit 3; with --runs 4 -->
```console
$ pyharness one --x   # why
$ pyharness two \\
    --y 'a b'
said
```

text in between

  ```toml
  [a]
    b = 1
  ```
"""


def test_commands_and_what_stands_below_them(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(PAGE)
    console, toml = blocks(page)
    assert console.told() == [
        ("pyharness one --x", []),
        ("pyharness two --y 'a b'", ["said"]),
    ]
    assert console.says == {"gpu": "", "exit": "3", "with": "--runs 4"}
    assert (toml.line, toml.language, toml.text, toml.says) == (13, "toml", "[a]\n  b = 1\n", {})


def test_a_block_without_an_end_is_told(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```console\n$ x\n")
    with pytest.raises(AssertionError, match="has no end"):
        list(blocks(page))


@pytest.mark.parametrize(
    ("expected", "printed", "same"),
    [
        ("1,068 problems", "head\n1,068 problems\n", True),
        ("1,068 problems", "1,069 problems", False),
        ("Walked in 2.7 s; tables", "Walked in 13.0 s; tables", True),
        ("Walked in 2.7 s; 5 tables", "Walked in 2.7 s; 6 tables", False),
        ("accepted 77.7 71.2 0.92", "accepted 80.1  70.0   0.87", True),
        ("SUCCESS 49,736 4.65%", "SUCCESS 49,736 4.66%", False),
        ("cuDNN 9.12.0.46", "cuDNN 9.12.0.47", False),
        ("first\n[…]\nlast", "first\nmuch\nmore\nlast", True),
        ("first\n[…]\nlast", "first\nmuch\nmore", False),
        (
            "a mapped 2026-11-30T13:32:27+00:00 on X",
            "a mapped 2027-01-02T03:04:05+00:00 on X",
            True,
        ),
    ],
)
def test_what_is_the_same(expected: str, printed: str, same: bool) -> None:
    assert matches(expected, printed) is same
