"""The compiled extension's types; tests/device/test_stub.py compares them with the real thing."""

from collections.abc import Sequence

from typing_extensions import Buffer

compiler: str
build_type: str

class LoadError(OSError): ...

class Library:
    def __init__(self, path: str) -> None: ...
    @property
    def version(self) -> int: ...
    def status_name(self, status: int) -> str: ...
    def has(self, symbol: str) -> bool: ...

class Board:
    def __init__(self, memory: Buffer) -> None: ...

def die_with_parent() -> None: ...
def call_names() -> list[str]: ...
def call_axes(call: str) -> list[str]: ...
def board_bytes(rows: int) -> int: ...
def walk_range(
    library: Library,
    board: Board,
    call: str,
    axes: Sequence[Sequence[int]],
    literal_lengths: Sequence[Sequence[int]],
    begin: int,
    count: int,
    explain: bool,
) -> None: ...
def walk_rows(
    library: Library,
    board: Board,
    call: str,
    axes: Sequence[Sequence[int]],
    literal_lengths: Sequence[Sequence[int]],
    rows: Buffer,
    explain: bool,
) -> None: ...
def time_rows(
    library: Library,
    call: str,
    axes: Sequence[Sequence[int]],
    literal_lengths: Sequence[Sequence[int]],
    rows: Buffer,
    repeats: int,
) -> list[float]: ...
