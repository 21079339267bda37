"""The stages of the synthesis in a folder: seeds, drafts, trajectories. Each goes on from what is there already."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from simia_gym.common.event_loop import run_sync
from simia_gym.errors import Fault, InputError
from simia_gym.llm.types import ChatModel
from simia_gym.record.records import Record
from simia_gym.synth.domains import Subject
from simia_gym.synth.drafts import DRAFTS, Attempt, Draft
from simia_gym.synth.judged import opinion
from simia_gym.synth.lines import Lines, write_lines
from simia_gym.synth.played import TasksOfKind, draft_of, tasks_for
from simia_gym.synth.postprocess import DROPPED, KEPT, Counts, Postprocess
from simia_gym.synth.seeds import SEEDS, SEEDS_DROPPED, DroppedSeed, Seed, read_seeds
from simia_gym.synth.settings import SynthSettings
from simia_gym.synth.single import Teacher, write_all
from simia_gym.trajectories.contamination import Benchmark, add_file, add_tasks
from simia_gym.trajectories.findings import Finding
from simia_gym.trajectories.written import from_text
from simia_gym.types import JsonObject

_OPINIONS = "opinions.jsonl"
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
        teacher: The model that writes them; ``None`` if they are played.
        judge: The model that reads them; ``None`` if programs decide alone.
        play: Plays tasks; ``None`` if a teacher writes.
        tasks: The tasks to play by kind; ``None`` if a teacher writes.
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
        self.on_draft: Callable[[Draft], None] = lambda draft: None

    @property
    def folder(self) -> Path:
        """The folder of all files."""
        return self.settings.folder

    def filter(self, paths: Sequence[Path], format: str | None = None) -> tuple[list[Seed], list[DroppedSeed]]:
        """Read and check traces; write those that are seeds, and the others with their reasons.

        Raises:
            InputError: A file cannot be read, or none of the traces is a seed.
            Fault: The judge's model gave no readable reply.
        """
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
        if self._judge is not None:
            seeds, unsound = run_sync(self._read_seeds(seeds), inline=False)
            dropped += unsound
        write_lines(self.folder / SEEDS, (seed.to_json() for seed in seeds))
        write_lines(self.folder / SEEDS_DROPPED, (item.to_json() for item in dropped))
        if not seeds:
            why = f"; the first: {dropped[0].where}: {dropped[0].findings[0].what}" if dropped else ""
            what = f"none of {len(dropped)} traces is a seed{why}"
            raise InputError(what, where=", ".join(map(str, paths)), fix=f"See {self.folder / SEEDS_DROPPED}.")
        return seeds, dropped

    async def _read_seeds(self, seeds: Sequence[Seed]) -> tuple[list[Seed], list[DroppedSeed]]:
        good: list[Seed] = []
        bad: list[DroppedSeed] = []
        assert self._judge is not None
        for seed in seeds:
            found = await opinion(
                self._judge, self.subject.teaching, f"seed {seed.id}", seed.messages, self.settings.drawn
            )
            if found.good:
                good.append(seed)
            else:
                code = "incomplete" if not found.complete else "unsound"
                bad.append(DroppedSeed(seed.source, (Finding(code, 0, found.reason),)))
        return good, bad

    def seeds(self) -> list[Seed]:
        """The seeds of the folder; none if there are none and trajectories are played.

        Raises:
            InputError: There are none, and a teacher needs one.
        """
        path = self.folder / SEEDS
        found = [Seed.from_json(item) for item in Lines(path).items.values()]
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
        assert self._teacher is not None
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
        if not drafts.items:
            raise InputError("there are no drafts", where=str(drafts.path), fix="Run simia synth simulate first.")
        return self._rounds(self.seeds(), drafts, make=False)

    def _rounds(self, seeds: Sequence[Seed], drafts: Lines, *, make: bool) -> Made:
        settings = self.settings
        process = self._process(seeds)
        kept: list[JsonObject] = []
        dropped: list[JsonObject] = []
        opinions = Lines(self.folder / _OPINIONS)
        if make:
            for number, attempts in enumerate(self._wanted(process, seeds), 1):
                self._make(attempts, drafts, number)
                self._check(process, [drafts.items.get(one.id) for one in attempts], kept, dropped, opinions)
        else:
            there = sorted(drafts.items.values(), key=lambda item: int(item["order"]))
            self._check(process, there, kept, dropped, opinions)
        opinions.close()
        write_lines(self.folder / KEPT, kept)
        write_lines(self.folder / DROPPED, dropped)
        counts = process.counts
        reasons: dict[str, int] = {}
        for item in _objects(self.folder / SEEDS_DROPPED):
            code = item["findings"][0]["code"]
            reasons[code] = reasons.get(code, 0) + 1
        lacking = {kind or "all": settings.target - counts.kept[kind] for kind in self.kinds(seeds)} if make else {}
        return Made(len(seeds), reasons, counts, {kind: some for kind, some in lacking.items() if some > 0})

    def _process(self, seeds: Sequence[Seed]) -> Postprocess:
        settings, benchmark = self.settings, Benchmark()
        if self.subject.domain is not None:
            add_tasks(benchmark, self.subject.domain.tasks_of("test"), self.subject.domain.name)
        for path in settings.benchmark:
            add_file(benchmark, path)
        known = {seed.id: seed for seed in seeds}
        return Postprocess(self.subject, known, benchmark, near=settings.near, cut=settings.cut, least=settings.least)

    def _wanted(self, process: Postprocess, seeds: Sequence[Seed]) -> Iterator[list[Attempt]]:
        """The attempts of each round: as many as the kinds lack; a kind ends with its target, or with its tries."""
        settings, order = self.settings, 0
        tried = dict.fromkeys(self.kinds(seeds), 0)
        while True:
            attempts: list[Attempt] = []
            for kind, done in tried.items():
                lacking = settings.target - process.counts.kept[kind]
                most = settings.target * settings.tries - done
                for number in range(done, done + min(most, round(lacking * _SPARE + 0.5) if lacking > 0 else 0)):
                    attempts.append(Attempt(f"{settings.way}-{kind or 'any'}-{number}", order, kind, number))
                    order += 1
                    tried[kind] = number + 1
            if not attempts:
                return
            before = len(attempts)
            yield attempts
            if (
                settings.way == "played"
                and before
                and not any(self._tasks is not None and self._tasks.get(one.kind, one.number) for one in attempts)
            ):
                return

    def _make(self, attempts: Sequence[Attempt], drafts: Lines, number: int) -> None:
        """Make the drafts that are missing; faults of an earlier run are tried again."""
        missing = [one for one in attempts if "fault" in drafts.items.get(one.id, {"fault": ""})]
        if not missing:
            return
        drafts.check_room()
        if self.settings.way == "single":

            def take(draft: Draft) -> None:
                drafts.add(draft.to_json())
                self.on_draft(draft)

            work = write_all(
                self.teacher(), missing, concurrency=self.settings.at_once, before=drafts.check_room, on_draft=take
            )
            run_sync(work, inline=False)
            return
        assert self._play is not None
        assert self._tasks is not None
        wanted = tasks_for(attempts, self._tasks)
        if wanted:
            for record in self._play([*wanted], f"episodes-{number}.jsonl"):
                draft = draft_of(record, wanted[record.task])
                drafts.add(draft.to_json())
                self.on_draft(draft)

    def _check(
        self,
        process: Postprocess,
        drafts: Sequence[Mapping[str, Any] | None],
        kept: list[JsonObject],
        dropped: list[JsonObject],
        opinions: Lines,
    ) -> None:
        for item in drafts:
            if item is None:
                continue
            draft = Draft.from_json(dict(item))
            found = process.check(draft)
            if isinstance(found, list):
                dropped.append({"id": draft.id, "kind": draft.kind, "findings": [one.to_json() for one in found]})
            elif found is not None and self._judge is not None:
                said = self._opinion(draft, found, opinions)
                found["checks"]["judge"] = said
                if said.get("fault") or not (said["complete"] and said["sound"]):
                    code = "unread" if said.get("fault") else "incomplete" if not said["complete"] else "unsound"
                    finding = Finding(code, 0, str(said.get("reason") or said.get("fault")))
                    process.reject(draft.kind, finding)
                    dropped.append({"id": draft.id, "kind": draft.kind, "findings": [finding.to_json()]})
                else:
                    kept.append(found)
            elif found is not None:
                kept.append(found)

    def _opinion(self, draft: Draft, row: JsonObject, opinions: Lines) -> JsonObject:
        """What the judge's model thinks of a trajectory, asked once for each content."""
        name = f"{draft.id}:{row['content']}"
        if name not in opinions.items or "fault" in opinions.items[name]:
            messages = from_text(draft.text).messages if draft.way == "single" else list(draft.messages)
            assert self._judge is not None
            try:
                asked = opinion(self._judge, self.subject.teaching, name, messages, self.settings.drawn)
                said = run_sync(asked, inline=False)
                opinions.add({"id": name, **said.to_json()})
            except Fault as fault:
                opinions.add({"id": name, "fault": f"{fault.kind}: {fault.message}"})
        return {key: value for key, value in opinions.items[name].items() if key != "id"}


def _objects(path: Path) -> list[JsonObject]:
    from simia_gym.common.files import read_jsonl

    return [value for _, value in read_jsonl(path)] if path.is_file() else []
