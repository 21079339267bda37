"""The stages of the synthesis in a folder: seeds, drafts, trajectories. Each goes on from what is there already."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from simia_gym.common.event_loop import run_sync
from simia_gym.common.files import read_json, read_jsonl
from simia_gym.common.json_encoding import encode, hash_of
from simia_gym.common.writing import write_whole
from simia_gym.errors import InputError
from simia_gym.llm.types import ChatModel
from simia_gym.record.records import Record
from simia_gym.synth.domains import Subject
from simia_gym.synth.drafts import DRAFTS, Attempt, Draft
from simia_gym.synth.judged import against, opinions
from simia_gym.synth.lines import Lines, NewLines, write_lines
from simia_gym.synth.played import TasksOfKind, draft_of
from simia_gym.synth.postprocess import DROPPED, KEPT, Counts, Kept, Postprocess
from simia_gym.synth.seeds import SEEDS, SEEDS_DROPPED, DroppedSeed, Seed, read_seeds
from simia_gym.synth.settings import SynthSettings
from simia_gym.synth.single import Teacher, write_all
from simia_gym.trajectories.contamination import Benchmark, add_file, add_tasks
from simia_gym.trajectories.written import why_unreadable
from simia_gym.types import JsonObject, Message

_OF, _OPINIONS = "synthesis.json", "opinions.jsonl"
_FAULTS = 10
"""So many replies in a row that hold nothing end a run."""
_UNREAD = 30
"""So many replies before the first one that is a trajectory end a run: each is paid for."""
_BATCH = 256
"""So many drafts are in memory at the same time."""
_SPARE = 1.1
"""So many attempts a round for each trajectory that is missing."""


class Play(Protocol):
    """Plays tasks and records their episodes."""

    def __call__(self, tasks: Sequence[str], name: str) -> Iterable[Record]:
        """Play tasks, given their ids and the name of the record file; what is recorded already is not played again."""
        ...


@dataclass
class Made:
    """What a synthesis has made.

    Attributes:
        seeds: Number of seeds.
        seeds_dropped: Traces that are none, by their first finding.
        counts: What became of the drafts.
        missing: By kind, how many trajectories the target lacks.
    """

    seeds: int
    seeds_dropped: dict[str, int]
    counts: Counts
    missing: dict[str, int] = field(default_factory=dict)

    def to_json(self) -> JsonObject:
        """As an object."""
        return {
            "seeds": self.seeds,
            "seeds_dropped": self.seeds_dropped,
            **self.counts.to_json(),
            "kept_in_all": self.counts.kept.total(),
            "missing": self.missing,
        }


class Synthesis:
    """Makes trajectories about one subject in one folder.

    Args:
        subject: The environment, or tools and policy.
        settings: How many, how, and what they have to pass.
        teacher: The model that writes them; ``None`` if they are played, or nothing is written.
        judge: The model that reads them; ``None`` if programs decide alone.
        play: Plays tasks; ``None`` if a teacher writes.
        tasks: The tasks to play by kind; ``None`` if a teacher writes.

    Attributes:
        on_made: Called whenever a draft is there.
    """

    def __init__(
        self,
        subject: Subject,
        settings: SynthSettings,
        *,
        teacher: ChatModel | None = None,
        judge: ChatModel | None = None,
        play: Play | None = None,
        tasks: TasksOfKind | None = None,
    ) -> None:
        self.subject, self.settings = subject, settings
        self._teacher, self._judge, self._play, self._tasks = teacher, judge, play, tasks
        self.on_made: Callable[[], None] = lambda: None
        self._unread: int | None = 0

    @property
    def folder(self) -> Path:
        """The folder of all files."""
        return self.settings.folder

    def _claim(self) -> None:
        """Take the folder for this environment and seed.

        Raises:
            InputError: It is another's, whose drafts would count for this one.
        """
        path, teaching = self.folder / _OF, self.subject.teaching
        about = hash_of(encode([teaching.policy, list(teaching.tools)]))[:16]
        own = {"env": self.subject.env, "seed": self.settings.drawn, "policy_and_tools": about}
        held = read_json(path) if path.is_file() else own
        other = next((name for name in own if held.get(name) != own[name]), None)
        if other is not None:
            what = f"it holds a synthesis with another {other}: {held.get(other)!r}, and not {own[other]!r}"
            raise InputError(what, where=str(self.folder), fix="Give another --out.")
        self.folder.mkdir(parents=True, exist_ok=True)
        write_whole(path, encode(own) + b"\n")

    def filter(self, paths: Sequence[Path], format: str | None = None) -> tuple[list[Seed], list[DroppedSeed]]:
        """Read and check traces; write those that are seeds, and the others with their reasons.

        Raises:
            InputError: A file cannot be read, none of the traces is a seed, or the folder holds another synthesis.
        """
        self._claim()
        settings = self.settings
        seeds: list[Seed] = []
        dropped: list[DroppedSeed] = []
        for found in read_seeds(
            paths,
            self.subject,
            format=format,
            licence=settings.licence,
            redact=settings.redact,
            least=settings.least,
        ):
            if isinstance(found, Seed):
                seeds.append(found)
            else:
                dropped.append(found)
        said = self._opinions({f"seed {seed.id}": seed.messages for seed in seeds})
        for seed in list(seeds):
            finding = against(said.get(f"seed {seed.id}"))
            if finding is not None:
                seeds.remove(seed)
                dropped.append(DroppedSeed(seed.source, (finding,)))
        write_lines(self.folder / SEEDS, (seed.to_json() for seed in seeds))
        write_lines(self.folder / SEEDS_DROPPED, (item.to_json() for item in dropped))
        if not seeds:
            why = f"; the first: {dropped[0].where}: {dropped[0].findings[0].what}" if dropped else ""
            what = f"none of {len(dropped)} traces is a seed{why}"
            raise InputError(what, where=", ".join(map(str, paths)), fix=f"See {self.folder / SEEDS_DROPPED}.")
        return seeds, dropped

    def seeds(self) -> list[Seed]:
        """The seeds of the folder; none if there are none and trajectories are played.

        Raises:
            InputError: There are none, and a teacher needs one.
        """
        path = self.folder / SEEDS
        found = [Seed.from_json(item) for _, item in read_jsonl(path)] if path.is_file() else []
        if not found and self.settings.way == "single":
            fix = "Give traces: simia synth filter ENV FILE... --out DIR."
            raise InputError("there are no seeds", where=str(path), fix=fix)
        return found

    def kinds(self, seeds: Sequence[Seed]) -> list[str]:
        """The kinds of tasks: those of the seeds; if they have none, the environment's where tasks are played."""
        named = sorted({seed.kind for seed in seeds if seed.kind})
        if named:
            return named
        return [""] if self._tasks is None else self._tasks.kinds()

    def teacher(self) -> Teacher:
        """Who writes.

        Raises:
            InputError: There are no seeds.
        """
        return Teacher(self._teacher, self.subject.teaching, self.seeds(), seed=self.settings.drawn)

    def simulate(self) -> Made:
        """Make drafts and check them, round by round, until each kind has its trajectories or its tries are used up.

        Raises:
            InputError: There are no seeds, or a file is damaged.
            StorageError: A file cannot be written.
        """
        seeds, drafts = self.seeds(), Lines(self.folder / DRAFTS)
        try:
            return self._rounds(seeds, drafts, make=True)
        finally:
            drafts.close()

    def postprocess(self) -> Made:
        """Check the drafts that are there again, under the settings of now; nothing is made.

        Raises:
            InputError: There are no drafts.
        """
        drafts = Lines(self.folder / DRAFTS)
        if not drafts:
            raise InputError("there are no drafts", where=str(drafts.path), fix="Run simia synth simulate first.")
        try:
            return self._rounds(self.seeds(), drafts, make=False)
        finally:
            drafts.close()

    def _rounds(self, seeds: Sequence[Seed], drafts: Lines, *, make: bool) -> Made:
        self._claim()
        settings = self.settings
        process = self._process(seeds)
        with NewLines(self.folder / KEPT) as kept, NewLines(self.folder / DROPPED) as dropped:
            if make:
                for number, attempts in enumerate(self._wanted(process, seeds), 1):
                    self._make(attempts, drafts, number)
                    self._check(process, drafts, [one.id for one in attempts], kept, dropped)
            else:
                self._check(process, drafts, drafts.in_order(), kept, dropped)
        counts = process.counts
        reasons: Counter[str] = Counter()
        if (self.folder / SEEDS_DROPPED).is_file():
            reasons.update(item["findings"][0]["code"] for _, item in read_jsonl(self.folder / SEEDS_DROPPED))
        lacking = {kind or "all": settings.target - counts.kept[kind] for kind in self.kinds(seeds)} if make else {}
        return Made(len(seeds), dict(reasons), counts, {kind: some for kind, some in lacking.items() if some > 0})

    def _process(self, seeds: Sequence[Seed]) -> Postprocess:
        settings, benchmark = self.settings, Benchmark()
        if self.subject.domain is not None:
            add_tasks(benchmark, self.subject.domain.tasks_of("test"), self.subject.domain.name)
        for path in settings.benchmark:
            add_file(benchmark, path)
        known = {seed.id: seed for seed in seeds}
        return Postprocess(self.subject, known, benchmark, near=settings.near, cut=settings.cut, least=settings.least)

    def _wanted(self, process: Postprocess, seeds: Sequence[Seed]) -> Iterator[list[Attempt]]:
        """The attempts of each round: as many as kinds lack. A kind ends with its target, its tries or its tasks."""
        settings, tasks, order = self.settings, self._tasks, 0
        tried = dict.fromkeys(self.kinds(seeds), 0)
        while True:
            attempts: list[Attempt] = []
            for kind, done in tried.items():
                lacking = settings.target - process.counts.kept[kind]
                upto = min(settings.target * settings.tries, done + (math.ceil(lacking * _SPARE) if lacking > 0 else 0))
                for number in range(done, upto):
                    if tasks is not None and tasks.get(kind, number) is None:
                        break
                    attempts.append(Attempt(f"{settings.way}-{kind or 'any'}-{number}", order, kind, number))
                    order += 1
                    tried[kind] = number + 1
            if not attempts:
                return
            yield attempts

    def _make(self, attempts: Sequence[Attempt], drafts: Lines, number: int) -> None:
        """Make the drafts that are missing; faults of an earlier run are tried again."""
        drafts.check_room()
        if self._tasks is not None:
            self._play_all(attempts, drafts, number)
            return
        teacher = self.teacher()
        missing = []
        for one in attempts:
            held = drafts.get(one.id)
            if held is None or "fault" in held or held["seed"] != teacher.seed_of(one).id:
                missing.append(one)
        in_a_row = 0

        def end(what: str) -> None:
            raise InputError(what, where="the teacher's model", fix="Mend it; the same command goes on.")

        def take(draft: Draft) -> None:
            nonlocal in_a_row
            drafts.add(draft.to_json())
            self.on_made()
            in_a_row = in_a_row + 1 if draft.fault else 0
            if in_a_row == _FAULTS:
                end(f"{_FAULTS} replies in a row hold nothing; the last: {draft.fault}")
            if draft.fault or self._unread is None:
                return
            why = why_unreadable(draft.text)
            self._unread = None if why is None else self._unread + 1
            if self._unread == _UNREAD:
                end(f"none of {_UNREAD} replies is a trajectory; the last: {why}")

        at_once = self.settings.at_once
        work = write_all(teacher, missing, concurrency=at_once, before=drafts.check_room, on_draft=take)
        run_sync(work, inline=False)

    def _play_all(self, attempts: Sequence[Attempt], drafts: Lines, number: int) -> None:
        assert self._play is not None
        assert self._tasks is not None
        if not any(drafts.lacks(one.id) for one in attempts):
            return
        tasks = [self._tasks.get(one.kind, one.number) for one in attempts]
        wanted = {task: one for task, one in zip(tasks, attempts, strict=True) if task is not None}
        for record in self._play([*wanted], f"episodes-{number}.jsonl"):
            drafts.add(draft_of(record, wanted[record.task]).to_json())

    def _check(
        self, process: Postprocess, drafts: Lines, ids: Sequence[str], kept: NewLines, dropped: NewLines
    ) -> None:
        """Check drafts, some at a time, so that not all of them are in memory."""
        size = _BATCH if self._judge is None else max(_BATCH, 8 * self.settings.at_once)
        for begin in range(0, len(ids), size):
            held = [item for one in ids[begin : begin + size] if (item := drafts.get(one)) is not None]
            self._check_some(process, map(Draft.from_json, held), kept, dropped)

    def _check_some(self, process: Postprocess, drafts: Iterable[Draft], kept: NewLines, dropped: NewLines) -> None:
        found = [(draft, process.check(draft)) for draft in drafts]
        passed = {f"{draft.id}:{one.row['content']}": one for draft, one in found if isinstance(one, Kept)}
        said = self._opinions({name: one.messages for name, one in passed.items()})
        for draft, one in found:
            findings = one if isinstance(one, list) else []
            if isinstance(one, Kept):
                opinion = said.get(f"{draft.id}:{one.row['content']}")
                finding = against(opinion)
                if finding is None:
                    kept.add(one.row if opinion is None else _with_opinion(one.row, opinion))
                    continue
                process.reject(draft.kind, finding)
                findings = [finding]
            if findings:
                dropped.add({"id": draft.id, "kind": draft.kind, "findings": [each.to_json() for each in findings]})

    def _opinions(self, named: Mapping[str, Sequence[Message]]) -> Mapping[str, JsonObject]:
        """What the judge's model thinks of trajectories by their names, each asked once; none without a judge."""
        judge = self._judge
        if judge is None:
            return {}
        held = Lines(self.folder / _OPINIONS)
        missing = {name: messages for name, messages in named.items() if held.lacks(name)}
        try:
            run_sync(opinions(judge, self.subject.teaching, missing, self.settings, held.add), inline=False)
            return {name: item for name in named if (item := held.get(name)) is not None}
        finally:
            held.close()


def _with_opinion(row: JsonObject, opinion: JsonObject) -> JsonObject:
    about = {name: value for name, value in opinion.items() if name != "id"}
    return {**row, "checks": {**row["checks"], "judge": about}}
