"""Conditions that ask for processes of their own: they are compared with each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from pyharness.engine.repeats import Event, NotTried, Refused, Repeats, Seen, sha
from pyharness.engine.runner import StageFailed
from pyharness.spec.differences import difference
from pyharness.spec.repeatability import (
    BETWEEN_PROCESSES,
    CUBLAS_SETTINGS,
    CUBLAS_VARIABLE,
    UNCHANGED,
)

# Of each setting: two show whether processes differ at all. Where settings seem to, so many more:
# a result that a process draws at will comes out as if the setting drew it in 6 of 2^18 cases.
_PROCESSES, _MORE = 2, 4

# By tensor and setting: digests, None the first's. Two show that they differ: no more are kept.
_Results = dict[str, dict[str, set[str | None]]]
_CUT_SHORT = "not every setting was tried as often as tells it from a difference between processes"


def fresh_process(s: Repeats, condition: str) -> Iterator[Event]:
    """A run in each of so many processes, beside one in another."""
    apart = _Apart(s, condition)
    yield from apart.run({}, 0)
    for _ in range(s.runs):
        yield from apart.run({}, 1)


def cublas_workspace(s: Repeats, condition: str) -> Iterator[Event]:
    """Processes of each setting in turn.

    A difference is the setting's only where all runs of a setting are the same, whatever their
    process: another one is not told here.
    """
    apart = _Apart(s, condition)
    results = _no_results(s.tensors)
    half = -(-s.runs // _PROCESSES)
    try:
        for runs in (half, max(s.runs - half, 1)):
            yield from _every_setting(apart, runs, results)
        if any(_is_of_setting(found) for found in results.values()):
            for _ in range(_MORE):
                yield from _every_setting(apart, 1, results)
    except (Refused, StageFailed):
        for tensor, found in results.items():
            if len(set.union(*found.values())) > 1:
                yield NotTried(condition, _CUT_SHORT, tensor, void=True)
        raise
    for tensor, found in results.items():
        if unsteady := [name for name, digests in found.items() if len(digests) > 1]:
            yield NotTried(condition, _differing(unsteady, found), tensor, void=True)


@dataclass
class _Apart:
    """Runs in processes of their own, compared with the very first of them."""

    repeats: Repeats
    condition: str
    first: dict[str, bytes] = field(default_factory=dict)
    digests: dict[str, str] = field(default_factory=dict)
    processes: int = 0

    def run(
        self, env: Mapping[str, str | None], runs: int, variant: str | None = None
    ) -> Iterator[Seen]:
        """So many runs in one more process."""
        self.repeats.leave()
        with self.repeats.another(env) as runner:
            there = self.repeats.beside(runner)
            self.processes += 1
            if not self.first:
                there.once()
                self.first = there.held(there.tensors)
                self.digests = {name: sha(data) for name, data in self.first.items()}
                if self.repeats.twice:
                    self._once_more(there)
            for _ in range(runs):
                there.once()
                yield from self._compare(there, self.condition, variant)

    def _compare(self, there: Repeats, condition: str, variant: str | None) -> Iterator[Seen]:
        for name, digest in there.bench.digest(there.tensors).items():
            apart = None
            if digest != self.digests[name]:
                apart = difference(self.first[name], there.bench.read(name), there.data_type)
            found = None if apart is None else digest
            yield Seen(
                condition, name, found, apart, variant, None, self.processes, BETWEEN_PROCESSES
            )

    def _once_more(self, there: Repeats) -> None:
        """The first run again, in its own process: whether it came out by chance."""
        there.once()
        seen = [one for one in self._compare(there, UNCHANGED, None) if one.difference is not None]
        self.repeats.unsteady.update(one.tensor for one in seen)
        self.repeats.by_chance += [replace(one, process=0) for one in seen]


def _every_setting(apart: _Apart, runs: int, results: _Results) -> Iterator[Seen]:
    """So many runs in one more process of each; ``results`` are added to."""
    for setting in CUBLAS_SETTINGS:
        variant = f"{CUBLAS_VARIABLE}={setting}" if setting else f"{CUBLAS_VARIABLE} unset"
        for seen in apart.run({CUBLAS_VARIABLE: setting}, runs, variant):
            digests = results[seen.tensor][setting or "unset"]
            if len(digests) < 2:
                digests.add(seen.digest)
            yield seen


def _no_results(tensors: Sequence[str]) -> _Results:
    names = [setting or "unset" for setting in CUBLAS_SETTINGS]
    found: _Results = {tensor: {name: set() for name in names} for tensor in tensors}
    for results in found.values():
        results[names[0]].add(None)  # the very first run is one of this setting
    return found


def _is_of_setting(found: Mapping[str, set[str | None]]) -> bool:
    each_steady = all(len(results) == 1 for results in found.values())
    return each_steady and len(set.union(*found.values())) > 1


def _differing(unsteady: Sequence[str], found: Mapping[str, set[str | None]]) -> str:
    steady = [name for name in found if name not in unsteady]
    words = f"runs of one setting differ, in a process or between two ({', '.join(unsteady)}"
    words += f"; not {', '.join(steady)})" if steady else ")"
    return f"{words}: see fresh_process and same_objects"
