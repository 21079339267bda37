"""The way ``single``: a teacher writes each trajectory in one reply."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from simia_gym.errors import Fault
from simia_gym.llm.ask import derive_seed
from simia_gym.llm.prompt import Prompt
from simia_gym.llm.types import ChatModel, ChatRequest
from simia_gym.synth.drafts import Attempt, Draft, seeds_of
from simia_gym.synth.prompt import VARY, Teaching, teacher_prompt, variation
from simia_gym.synth.seeds import Seed
from simia_gym.synth.workers import at_the_same_time
from simia_gym.types import JsonObject

TEACHER = "teacher"


class Teacher:
    """Writes trajectories with a model.

    Args:
        model: The model; ``None`` where prompts are only made.
        teaching: The domain.
        seeds: Reference conversations.
        seed: Decides what is varied, and the requests' seeds.
        vary: What to vary.
    """

    def __init__(
        self,
        model: ChatModel | None,
        teaching: Teaching,
        seeds: Sequence[Seed],
        *,
        seed: int = 0,
        vary: Mapping[str, Sequence[str]] = VARY,
    ) -> None:
        self._model, self._teaching, self._seeds, self._seed, self._vary = model, teaching, seeds, seed, vary

    def seed_of(self, attempt: Attempt) -> Seed:
        """The reference conversation of an attempt: those of its kind take turns."""
        fitting = seeds_of(self._seeds, attempt.kind)
        return fitting[attempt.number % len(fitting)]

    def prompt(self, attempt: Attempt) -> tuple[Prompt, Seed, JsonObject]:
        """The prompt of an attempt, its seed, and what it varies."""
        seed = self.seed_of(attempt)
        vary = variation(attempt.number, seed=self._seed, vary=self._vary)
        return teacher_prompt(self._teaching, seed.messages, vary, kind=attempt.kind), seed, vary

    async def write(self, attempt: Attempt) -> Draft:
        """Write a trajectory; a fault of the model is part of the draft."""
        assert self._model is not None
        prompt, seed, vary = self.prompt(attempt)
        about = {"id": attempt.id, "order": attempt.order, "kind": attempt.kind, "way": "single", "seed": seed.id}
        request = ChatRequest(
            "teacher",
            prompt,
            seed=derive_seed([TEACHER, self._seed, attempt.id]),
            scope=f"{TEACHER}:{self._teaching.name}:{self._seed}:{attempt.id}",
        )
        try:
            reply = await self._model.complete(request)
        except Fault as fault:
            return Draft.from_json({**about, "vary": vary, "fault": f"{fault.kind}: {fault.message}"})
        usage = {"prompt": reply.usage.prompt, "completion": reply.usage.completion}
        return Draft.from_json({**about, "vary": vary, "text": reply.text, "model": reply.model, "usage": usage})


async def write_all(
    teacher: Teacher,
    attempts: Iterable[Attempt],
    *,
    concurrency: int,
    before: Callable[[], None],
    on_draft: Callable[[Draft], None],
) -> None:
    """Write several trajectories at the same time.

    Args:
        teacher: Who writes.
        attempts: What is wanted.
        concurrency: Most requests at the same time.
        before: Called before each request; what it raises ends all, and is raised.
        on_draft: Called with each draft as soon as it is there; likewise.
    """
    waiting = iter(list(attempts))

    async def work() -> None:
        for attempt in waiting:
            before()
            on_draft(await teacher.write(attempt))

    await at_the_same_time(work, concurrency)
