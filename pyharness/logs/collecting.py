"""What entries come to: problems with counts, each parsed once however often it is met."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field

from pyharness.logs.configuration import Configuration, Structure, configure, with_lengths
from pyharness.logs.containment import Found, Use, without_contained
from pyharness.logs.descriptors import DataDescriptor, Unheld, lengths_text
from pyharness.logs.grammar import OLD_CALLS, SIGNATURES, SPACES, parse_arguments
from pyharness.spec.problem import Problem
from pyharness.spec.recording import Recorded, Recording, Said
from pyharness.spec.statuses import PREFIX

Origin = tuple[int, int]  # process, thread

# What differs between calls of one problem, and the lengths, which may differ in every call.
_ADDRESS = re.compile(rb"addr=0x[0-9a-f]+")
_NO_ADDRESS = b"addr="
_LENGTHS = b"seqLengthArray: type=int; val=["
_SPACES = b"\ni!     %s: " % SPACES.encode()  # from here on sizes and addresses of buffers
_MOST_MET = 1 << 16  # entries that are remembered: 30 MB of a log whose every call is new
_MOST_TEXTS = 1 << 10  # the calls of one step have the same lengths
_MOST_REASONS = 10_000
_OTHER_REASON = "(one of many)"
_SAID = re.compile(rb"(?:Error|Warning): (\w+); Reason: ([^\n]*)")


@dataclass(slots=True)
class _Frame:
    """An entry without addresses and lengths.

    ``structure``  what it tells; None if it is malformed; a text: why it is not held.
    ``shape``      a number that frames of the same problem but for the lengths share.
    ``uses``       by the lengths.
    """

    structure: Structure | str | None
    shape: int = -1
    uses: dict[tuple[bytes, ...], Use | str | None] = field(default_factory=dict)


@dataclass(slots=True)
class Kind:
    """A head that entries have: severity, version and function.

    ``frames``       its entries as they were met.
    ``count``        its entries so far.
    ``ignored``      they are counted and not read.
    ``has_lengths``  an argument holds lengths of sequences.
    ``spaces``       lines that hold sizes and addresses of buffers, and come last.
    """

    severity: str
    version: int
    name: str
    frames: dict[bytes, _Frame] = field(default_factory=dict)
    count: int = 0
    info: bool = field(init=False)
    ignored: bool = field(init=False)
    has_lengths: bool = field(init=False)
    spaces: int = field(init=False)
    time_mark: bytes = field(init=False)
    process_mark: bytes = field(init=False)

    def __post_init__(self) -> None:
        """Derives what the entries are searched for."""
        self.info = self.severity == "I"
        self.ignored = self.info and self.name not in SIGNATURES
        arguments = SIGNATURES.get(self.name, ())
        self.has_lengths = bool({"xDesc", "seqLengthArray"} & set(arguments))
        begin = arguments.index(SPACES) if SPACES in arguments else len(arguments)
        self.spaces = len(arguments) - begin
        letter = self.severity.lower().encode()
        self.time_mark = b"\n%s! Time: " % letter
        self.process_mark = b"\n%s! Process=" % letter


class Collector:
    """Takes entries in, gives a recording out.

    ``size_bytes``, ``incomplete`` and ``notes`` are the reader's to fill, see spec.recording.
    """

    def __init__(self) -> None:
        self.size_bytes = 0
        self.incomplete = 0
        self.notes: list[str] = []
        self._kinds: dict[tuple[str, int, str], Kind] = {}
        self._shapes: dict[tuple[object, ...], int] = {}
        self._texts: dict[tuple[bytes, int, int], str] = {}
        self._met = 0  # frames and uses that are remembered
        self._found: dict[tuple[object, ...], Found] = {}
        self._last: dict[Origin, Use] = {}
        self._alone: dict[Origin, frozenset[Origin]] = {}  # one for the many uses of one thread
        self._not_held: dict[str, int] = {}
        self._statuses: dict[Said, int] = {}
        self._first, self._latest = b"~", b""

    def kind(self, severity: str, version: int, name: str) -> Kind:
        """The kind of entries of this severity, version and function, made when it is new."""
        return self._kinds.setdefault((severity, version, name), Kind(severity, version, name))

    def add_call(
        self, kind: Kind, text: bytes, time: bytes, origin: Origin, name: str, at: int
    ) -> bool:
        """Takes a call.

        ``text``        the lines of its arguments.
        ``name, at``    the file, and the byte in it.
        Returns         False if the text is not as cuDNN writes it.
        """
        lengths: list[bytes] = []
        if kind.spaces:
            end = text.rfind(_SPACES)
            if text.count(b"\n", end + 1) != kind.spaces:
                return False
            text = text[: end + 1]
        begin = text.find(_LENGTHS) + len(_LENGTHS) if kind.has_lengths else -1
        if begin >= len(_LENGTHS):
            pieces, end = [], 0
            while begin >= len(_LENGTHS):
                pieces.append(text[end:begin])
                end = text.find(b"]", begin)
                lengths.append(text[begin:end])
                begin = text.find(_LENGTHS, end) + len(_LENGTHS)
            pieces.append(text[end:])
            text = b"".join(pieces)
        if kind.spaces:
            begin = text.find(_NO_ADDRESS)
            text = text[:begin] + _ADDRESS.sub(_NO_ADDRESS, text[begin:])
        frame = kind.frames.get(text) or self._learn_frame(kind, text)
        key = tuple(lengths)
        try:
            use = frame.uses[key]
        except KeyError:
            use = self._learn_use(kind, frame, key, (name, at))
        if use is None:
            return False
        if time < self._first:  # noqa: PLR1730 - min() and max() cost 2 % of all the time
            self._first = time
        if time > self._latest:  # noqa: PLR1730
            self._latest = time
        if isinstance(use, str):
            self._not_held[use] = self._not_held.get(use, 0) + 1
            self._last.pop(origin, None)
            return True
        use.count += 1
        if origin not in use.origins:
            alone = self._alone.setdefault(origin, frozenset((origin,)))
            use.origins = use.origins | alone if use.origins else alone
        self._last[origin] = use
        return True

    def add_status(self, kind: Kind, text: bytes, origin: Origin) -> None:
        """Takes an error or a warning: of the call that its thread made last, if that was read."""
        found = _SAID.findall(text)
        if not found:
            return
        status = found[0][0].decode("utf-8", "replace").removeprefix(PREFIX)
        reason = ""
        if "RNN" in kind.name:
            reason = "; ".join(t.decode("utf-8", "replace").strip() for _, t in found)
        said = Said(kind.name, status, reason)
        if said not in self._statuses and len(self._statuses) >= _MOST_REASONS:
            said = Said(kind.name, status, _OTHER_REASON)
        self._statuses[said] = self._statuses.get(said, 0) + 1
        use = self._last.get(origin)
        if use is not None and use.name == kind.name:
            use.found.hear(Counter((said,)))

    def forget_last(self) -> None:
        """What is said next need not be about the calls that were taken last."""
        self._last.clear()

    def recording(self, names: list[str]) -> Recording:
        """All that was taken in."""
        kept = without_contained(list(self._found.values()))
        recording = Recording(
            problems=[_recorded(order, found) for order, found in enumerate(kept)],
            files=names,
            size_bytes=self.size_bytes,
            origins={o for f in self._found.values() for use in f.uses for o in use.origins},
            incomplete=self.incomplete,
            notes=self.notes,
        )
        for kind in self._kinds.values():
            recording.versions.add(kind.version)
            if kind.info:
                recording.calls[kind.name] += kind.count
        recording.not_held.update(self._not_held)
        for name in sorted(OLD_CALLS & set(recording.calls)):
            recording.not_held[f"{name} is of the API before 8.0"] = recording.calls[name]
        recording.statuses.update(self._statuses)
        if self._latest:
            recording.first, recording.last = self._first.decode(), self._latest.decode()
        return recording

    def _remember(self) -> None:
        """Counts what is remembered, and forgets it all where it would be too much."""
        self._met += 1
        if self._met > _MOST_MET:
            self._met = 1
            for kind in self._kinds.values():
                kind.frames.clear()

    def _learn_frame(self, kind: Kind, text: bytes) -> _Frame:
        self._remember()
        structure: Structure | str | None = None
        try:
            arguments = parse_arguments(kind.name, text.decode("utf-8", "replace"))
            if arguments is not None:
                structure = configure(kind.name, arguments)
        except Unheld as why:
            structure = f"{kind.name}: {why}"
        except (KeyError, ValueError):
            structure = None
        frame = kind.frames[text] = _Frame(structure)
        if isinstance(structure, Structure):
            shape = (structure.before, structure.after, structure.words, structure.y is None)
            frame.shape = self._shapes.setdefault(shape, len(self._shapes))
        return frame

    def _learn_use(
        self,
        kind: Kind,
        frame: _Frame,
        lengths: tuple[bytes, ...],
        place: tuple[str, int],
    ) -> Use | str | None:
        self._remember()
        use: Use | str | None = None
        try:
            if isinstance(frame.structure, Structure):
                configuration = with_lengths(frame.structure, lengths, self._lengths_text)
                use = self._use(kind.name, frame.shape, configuration, place)
            else:
                use = frame.structure
        except Unheld as why:
            use = f"{kind.name}: {why}"
        except ValueError:
            use = None
        frame.uses[lengths] = use
        return use

    def _lengths_text(self, inside: bytes, data: DataDescriptor) -> str:
        key = (inside, data.max_seq_length, data.batch_size)
        text = self._texts.get(key)
        if text is None:
            if len(self._texts) >= _MOST_TEXTS:
                self._texts.clear()
            text = self._texts[key] = lengths_text(inside, data)
        return text

    def _use(
        self, name: str, shape: int, configuration: Configuration, place: tuple[str, int]
    ) -> Use:
        structure = configuration.structure
        key = (shape, configuration.lengths[:1], configuration.words)
        found = self._found.get(key)
        if found is None:
            found = self._found[key] = Found(configuration, place, structure.roles)
        elif len(structure.roles) > len(found.roles):
            found.roles = structure.roles
        for use in found.uses:
            if use.name == name and use.stage == structure.stage:
                return use
        use = Use(name, structure.stage, found)
        found.uses.append(use)
        return use


def _recorded(order: int, found: Found) -> Recorded:
    """What was found, as others see it."""
    recorded = Recorded(
        Problem(found.configuration.given),
        found.roles,
        found.configuration.words,
        "{}@{}".format(*found.place),
        order,
        said=found.said or Counter(),
    )
    for use in found.uses:
        recorded.calls[use.name] += use.count
        recorded.origins |= use.origins
        if use.stage:
            recorded.stages[use.stage] += use.count
    return recorded
