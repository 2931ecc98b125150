"""The data dictionary that is checked in is the one that the declared columns make."""

from pathlib import Path

from pyharness.present.dictionary import render_dictionary
from pyharness.spec.tables import TABLES

PAGE = Path(__file__).parents[2] / "results" / "README.md"


def test_page_is_up_to_date() -> None:
    assert PAGE.read_text("utf-8") == render_dictionary(), (
        "run: python -m pyharness.present.dictionary > results/README.md"
    )


def test_every_column_is_on_the_page() -> None:
    page = render_dictionary()
    missing = [
        c.name for columns in TABLES.values() for c in columns if f"| `{c.name}` |" not in page
    ]
    assert missing == []


def test_names_are_declared_once_in_a_table() -> None:
    for table, columns in TABLES.items():
        names = [c.name for c in columns]
        assert len(names) == len(set(names)), table
