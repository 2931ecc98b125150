"""Many problems close to one another, put through every call that they make.

A search tries tens of thousands of variants of one problem. They differ in a few axes, so a variant
is a row of axis values, and each call sees the rows through the axes that it reads: equal calls are
made once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pyharness.engine.answers import ask, grid_of
from pyharness.engine.crew import Crew
from pyharness.spec.axes import INT_MAX, INT_MIN, PROJ_RULES, EnumAxis, parse_values
from pyharness.spec.calls import Call, all_axes
from pyharness.spec.enums import CELL_MODE, DIRECTION_MODE
from pyharness.spec.ledger import FAILED, NOT_RUN, Ledger
from pyharness.spec.problem import CallTexts, Problem
from pyharness.spec.seq_lengths import literal_lengths

Values = NDArray[np.int64]

_BIDIRECTIONAL = DIRECTION_MODE.parse("bidirectional")
_LSTM = CELL_MODE.parse("lstm")
# In place of a status: a problem of this kind makes no such call. More than any cuDNN has.
UNMADE = FAILED - 1


@dataclass(frozen=True, slots=True)
class _Role:
    """One call of the problem: what it describes, and where its axes come from."""

    role: str
    call: Call
    fixed: dict[str, int]

    @property
    def reads(self) -> tuple[str, ...]:
        """The axes of the problem that the call depends on."""
        own = [a.name for a in self.call.axes if a.name not in self.fixed]
        if "vector_size" in own and self.role == "x":
            own.append("input_size")
        elif "vector_size" in own and self.role == "y":
            own.remove("vector_size")
            own += ["hidden_size", "proj_size", "direction_mode"]
        return tuple(own)


class Neighbourhood:
    """A problem and whatever is near it, on one library.

    ``base``   the problem's own value of every axis that one of its calls reads.
    ``given``  the axes that the problem names.

    Raises  Collapse if no worker survives.
    """

    def __init__(
        self, crew: Crew, ledger: Ledger, problem: Problem, made: Sequence[CallTexts]
    ) -> None:
        self._crew, self._ledger = crew, ledger
        self.given = frozenset(problem.given)
        self._roles = [
            _Role(m.role, m.call, {"tensor": _tensor(m)} if m.role in ("h", "c") else {})
            for m in made
        ]
        if "tensor" not in problem.given:
            self._add_cell_state()
        self.base: dict[str, int] = {}
        axes, texts = all_axes(), {**problem.defaults, **problem.given}
        for m in made:
            for axis in m.call.axes:
                if axis.name not in self.base:
                    text = texts.get(axis.name, m.call.defaults[axis.name])
                    # The axis as the first call has it: open, where another takes names alone.
                    (self.base[axis.name],) = parse_values(axes[axis.name], text)
        for name in (n for r in self.roles for n in self.reads(r)):
            if name not in self.base:  # a width follows from it, and its own call was not recorded
                self.base[name] = problem.value(name)

    def _add_cell_state(self) -> None:
        """Adds c where only h is described: a neighbour that is an LSTM has it too."""
        roles = {r.role: r for r in self._roles}
        if "h" in roles and "c" not in roles and "descriptor" in roles:
            call = roles["h"].call
            self._roles.append(_Role("c", call, {"tensor": call.axis("tensor").parse("c")[0]}))

    @property
    def roles(self) -> list[str]:
        """What each call describes, in the order of the calls."""
        return [r.role for r in self._roles]

    def reads(self, role: str) -> tuple[str, ...]:
        """The axes of the problem that a call depends on; x is input_size wide unless told."""
        (found,) = (r for r in self._roles if r.role == role)
        unread = "input_size" if "vector_size" in self.given else "vector_size"
        return tuple(n for n in found.reads if n != unread or role not in ("x", "y"))

    def codes(
        self, changed: Mapping[str, Values], roles: Sequence[str] | None = None
    ) -> dict[str, NDArray[np.uint8]]:
        """What each call, or each of these, says of variants of the problem.

        Shapes   changed[axis]: int64 [n], the axis' value in each variant.
        Returns  for each role uint8 [n] in the ledger's terms; NOT_RUN where the call cannot be
                 made, UNMADE where such a problem does not make it.
        """
        count = len(next(iter(changed.values())))
        wanted = [r for r in self._roles if roles is None or r.role in roles]
        return {r.role: self._of_role(r, changed, count) for r in wanted}

    def accepted(
        self, changed: Mapping[str, Values], roles: Sequence[str] | None = None
    ) -> NDArray[np.bool_]:
        """Whether every call, or each of these, accepts each variant.

        Shapes   as in codes; bool [n].
        """
        every = np.ones(len(next(iter(changed.values()))), bool)
        for role in self._roles:
            if roles is not None and role.role not in roles:
                continue
            left = np.flatnonzero(every)  # what an earlier call refused is not asked again
            if not len(left):
                break
            some = {name: values[left] for name, values in changed.items()}
            every[left] = self.is_success(self._of_role(role, some, len(left)))
        return every

    def is_success(self, codes: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """Whether each code stands for SUCCESS, or for a call that need not be made."""
        table = np.zeros(256, bool)
        table[UNMADE] = True
        for code, status in enumerate(self._ledger.statuses):
            table[code] = self._ledger.names.get(status) == "SUCCESS"
        return np.asarray(table[codes])

    def _of_role(self, role: _Role, changed: Mapping[str, Values], count: int) -> NDArray[np.uint8]:
        columns = [self._column(role, axis.name, changed, count) for axis in role.call.axes]
        grid, rows = grid_of(role.call, columns)
        unique, first, inverse = np.unique(rows, return_index=True, return_inverse=True)
        possible = self._possible(role, [column[first] for column in columns])
        codes = np.full(len(unique), NOT_RUN, np.uint8)
        # A closed axis has no meaning for other values, and a worker is never handed one.
        codes[possible] = ask(self._crew, grid, unique[possible]).codes
        answers = np.asarray(codes[inverse.reshape(-1)])
        if role.role == "c" and "tensor" not in self.given and "cell_mode" in self.base:
            cells = changed.get("cell_mode", self.base["cell_mode"])
            answers = np.where(cells == _LSTM, answers, np.uint8(UNMADE))
        return answers

    def _column(self, role: _Role, name: str, changed: Mapping[str, Values], count: int) -> Values:
        """The values of one axis of a call over the variants."""

        def of(axis: str) -> Values:
            if axis in changed:
                return np.asarray(changed[axis], np.int64)
            return np.full(count, self.base[axis], np.int64)

        if name in role.fixed:
            return np.full(count, role.fixed[name], np.int64)
        if name != "vector_size":
            return of(name)
        if role.role == "x":
            return of("vector_size") if "vector_size" in self.given else of("input_size")
        outputs = _proj_sizes(of("proj_size"), of("hidden_size"))
        return np.where(of("direction_mode") == _BIDIRECTIONAL, 2 * outputs, outputs)

    @staticmethod
    def _possible(role: _Role, columns: Sequence[Values]) -> NDArray[np.bool_]:
        """Which variants make the call at all: no argument without a meaning or too wide."""
        named = dict(zip((a.name for a in role.call.axes), columns, strict=True))
        possible = np.ones(len(columns[0]), bool)
        for axis in role.call.axes:
            if isinstance(axis, EnumAxis) and axis.closed:
                possible &= np.isin(named[axis.name], axis.enum.values)
            elif axis.name == "vector_size":
                possible &= (named[axis.name] >= INT_MIN) & (named[axis.name] <= INT_MAX)
            elif axis.name == "seq_lengths":
                for value, needed in _lists(named[axis.name]):
                    possible &= (named[axis.name] != value) | (named["batch_size"] == needed)
        return possible


def _lists(values: Values) -> Iterator[tuple[int, int]]:
    """The literal lists among the values, and how many entries each has."""
    for value in np.unique(values).tolist():
        lengths = literal_lengths(value)
        if lengths is not None:
            yield value, len(lengths)


def _tensor(made: CallTexts) -> int:
    return parse_values(made.call.axis("tensor"), made.texts["tensor"])[0]


def _proj_sizes(values: Values, hidden: Values) -> Values:
    """resolve_proj_size over arrays."""
    sizes = np.where(values == PROJ_RULES["same"], hidden, values)
    # Towards zero, as C divides.
    sizes = np.where(values == PROJ_RULES["half"], np.sign(hidden) * (np.abs(hidden) // 2), sizes)
    return np.where(values == PROJ_RULES["over"], np.minimum(hidden + 1, INT_MAX), sizes)
