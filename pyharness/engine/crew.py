"""Several workers on one job: tasks out, rows back, the dead replaced."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing import connection
from types import TracebackType
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from pyharness.engine.process import Launch
from pyharness.engine.worker import DEFAULT_CAPACITY, DEFAULT_TIMEOUT_S, Worker
from pyharness.errors import HarnessError
from pyharness.space.grid import Grid
from pyharness.spec.ledger import Death, Ledger

# So many workers that end while nothing was ever answered: the library is unusable.
MOST_DEATHS_UNANSWERED = 8
# So many workers that end all in all: a replacement takes 0.1 s, so the rest might take days.
MOST_DEATHS = 1000
_EXPLAIN_CHUNK = 1 << 15  # 0.1 s of refusals at 4 µs: what a death or a Ctrl-C costs at most
_LEAST_CHUNK = 1 << 12


class Sink(Protocol):
    """Where a crew's findings go, as they come and in any order."""

    def rows(
        self, begin: int, codes: NDArray[np.uint8], text_ids: NDArray[np.uint16] | None
    ) -> None:
        """Positions [begin, begin + len(codes)) were answered, in the ledger's terms."""
        ...

    def death(self, position: int, death: Death) -> None:
        """Takes a position that ended its worker."""
        ...


class Collapse(HarnessError):
    """Too many workers ended: the sweep stops.

    ``answered``  the library had answered something; ``death`` is the last one.
    """

    def __init__(self, deaths: int, answered: bool, death: Death) -> None:
        what = "the rest is not tried" if answered else "this library cannot be used here"
        before = "" if answered else " before they answered a single case"
        super().__init__(f"{deaths} workers ended{before} ({death.cause}): {what}", death.output)
        self.answered = answered
        self.death = death


@dataclass(frozen=True, slots=True)
class Job:
    """What is to be tried: ``rows`` of the grid, or, where that is None, every row.

    ``pending``  runs of positions (begin, count) still to do; a position is a row number, or an
                 index into ``rows``.
    ``answered``  an earlier run got answers from this library.
    """

    grid: Grid
    pending: Sequence[tuple[int, int]]
    rows: NDArray[np.int64] | None = None
    answered: bool = False

    def split(self, longest: int) -> deque[tuple[int, int]]:
        """The pending runs cut into tasks of at most ``longest``."""
        return deque(
            (at, min(longest, begin + count - at))
            for begin, count in self.pending
            for at in range(begin, begin + count, longest)
        )


def whole(grid: Grid) -> Job:
    """Every row of a grid."""
    return Job(grid, [(0, grid.size)])


def some(grid: Grid, rows: NDArray[np.int64]) -> Job:
    """These rows of a grid."""
    return Job(grid, [(0, len(rows))], rows)


@dataclass(slots=True)
class _Hand:
    worker: Worker
    task: tuple[int, int] | None = None
    grid: Grid | None = None


@dataclass(frozen=True, slots=True)
class _Found:
    """A copy of a board: codes and text ids in the worker's own terms."""

    codes: NDArray[np.uint8]
    statuses: list[int]
    text_ids: NDArray[np.uint16] | None
    texts: list[str]


class Crew:
    """Up to ``size`` workers on one library, each a process of its own.

    With ``explain`` every refusal comes with cuDNN's words; such workers do nothing else, because a
    library whose callback was once set is slow from then on. After ``most_deaths`` workers that
    ended it gives up.
    """

    def __init__(
        self,
        launch: Launch,
        ledger: Ledger,
        size: int,
        *,
        explain: bool = False,
        timeout_s: float = DEFAULT_TIMEOUT_S,
        most_deaths: int = MOST_DEATHS,
    ) -> None:
        self._launch = launch
        self._ledger = ledger
        self._size = size
        self._explain = explain
        self._timeout_s = timeout_s
        self._most_deaths = most_deaths
        self._hands: list[_Hand] = []
        self._deaths = 0
        self._answered = False

    def __enter__(self) -> Crew:
        """The crew itself; workers start when they are first needed."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Ends every worker."""
        for hand in self._hands:
            hand.worker.close()
        self._hands.clear()

    def first(self) -> Worker:
        """A worker that is at rest, started if there is none."""
        return self._rest().worker

    def at_rest(self, grid: Grid) -> Worker:
        """A worker that is at rest and uses this grid."""
        hand = self._rest()
        self._give_grid(hand, grid)
        return hand.worker

    def version(self) -> int | None:
        """cudnnGetVersion(); None if the library ends its process when it is asked."""
        answer = self.first().version()
        return None if isinstance(answer, Death) else answer

    def run(self, job: Job, sink: Sink, tick: Callable[[], None] = lambda: None) -> None:
        """Does a job. ``tick`` is called again and again while workers are busy.

        Raises  Collapse if too many workers die.
        """
        tasks = job.split(self._chunk(job))
        self._answered |= job.answered
        self._learn_names()  # of statuses that an earlier run was interrupted before it could name
        while tasks or any(h.task for h in self._hands):
            self._hand_out(job, tasks)
            busy = [h for h in self._hands if h.task]
            connection.wait([h.worker.waitable for h in busy], timeout=0.05)
            for hand in busy:
                end = hand.worker.poll(0)
                if end is None:
                    continue
                begin, count = hand.task or (0, 0)
                hand.task = None
                if isinstance(end, Death):
                    self._bury(hand, begin, count, end, tasks, sink)
                else:
                    found = self._take(hand.worker, count)
                    self._learn_names()
                    self._hand_out(job, tasks)  # nobody waits for what the parent does with it
                    self._deliver(found, begin, sink)
            tick()
        self._learn_names()

    def _chunk(self, job: Job) -> int:
        longest = _EXPLAIN_CHUNK if self._explain else DEFAULT_CAPACITY
        total = sum(count for _, count in job.pending)
        return max(_LEAST_CHUNK, min(longest, -(-total // (4 * self._size))))

    def _hire(self) -> _Hand:
        hand = _Hand(Worker(self._launch, timeout_s=self._timeout_s))
        self._hands.append(hand)
        return hand

    def _resting(self) -> list[_Hand]:
        """Workers without a task. One that ended while it rested was on no case: it is replaced."""
        for hand in [h for h in self._hands if h.task is None and not h.worker.alive]:
            hand.worker.close()
            self._hands.remove(hand)
        return [h for h in self._hands if h.task is None]

    def _rest(self) -> _Hand:
        resting = self._resting()
        return resting[0] if resting else self._hire()

    def _hand_out(self, job: Job, tasks: deque[tuple[int, int]]) -> None:
        idle = self._resting()
        while tasks and len(self._hands) - len(idle) < self._size:
            hand = idle.pop() if idle else self._hire()
            self._give_grid(hand, job.grid)
            begin, count = hand.task = tasks.popleft()
            if job.rows is None:
                hand.worker.submit_range(begin, count, self._explain)
            else:
                hand.worker.submit_rows(job.rows[begin : begin + count], self._explain)

    @staticmethod
    def _give_grid(hand: _Hand, grid: Grid) -> None:
        if hand.grid is not grid:
            hand.worker.use_grid(grid)
            hand.grid = grid

    def _take(self, worker: Worker, count: int) -> _Found:
        """Copies what is on a board, so that its worker can go on."""
        board = worker.board
        for status in board.statuses:
            self._ledger.code(status)
        if not self._explain:
            return _Found(board.codes(count), board.statuses, None, [])
        return _Found(board.codes(count), board.statuses, board.text_ids(count), board.texts)

    def _deliver(self, found: _Found, begin: int, sink: Sink) -> None:
        if not len(found.codes):
            return
        self._answered = True
        codes = self._ledger.translate_codes(found.codes, found.statuses)
        texts = None
        if found.text_ids is not None:
            texts = self._ledger.translate_texts(found.text_ids, found.texts)
        sink.rows(begin, codes, texts)

    def _bury(
        self,
        hand: _Hand,
        begin: int,
        count: int,
        death: Death,
        tasks: deque[tuple[int, int]],
        sink: Sink,
    ) -> None:
        done = min(death.position, count - 1)
        self._deliver(self._take(hand.worker, done), begin, sink)
        sink.death(begin + done, death)
        hand.worker.close()
        self._hands.remove(hand)
        self._learn_names()
        rest = count - done - 1
        if rest:
            tasks.appendleft((begin + done + 1, rest))
        self._deaths += 1
        most = self._most_deaths if self._answered else MOST_DEATHS_UNANSWERED
        if self._deaths >= most and tasks:
            raise Collapse(self._deaths, self._answered, death)

    def _learn_names(self) -> None:
        unnamed = self._ledger.unnamed()
        if unnamed:
            names = self.first().status_names(unnamed)
            self._ledger.names.update(zip(unnamed, names, strict=True))
