"""Continuous batching: requests join at every step, and leave when their turn is finished."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from simia_gym.rl.chat.play import Turn
from simia_gym.rl.generation.attention import Segment
from simia_gym.rl.generation.packed import PackedRunner
from simia_gym.rl.generation.plain import PlainRunner
from simia_gym.rl.generation.sampling import Sampling, chance, draw
from simia_gym.rl.generation.slots import SlotTable

Runner: TypeAlias = PackedRunner | PlainRunner
_MOST_CONVERSATIONS = 100_000
"""Maximum number of conversations whose number of turns is remembered."""


@dataclass(eq=False)
class Request:
    """A request for one turn.

    Attributes:
        id: Id of the conversation.
        prompt: All tokens of the conversation so far.
        sampling: How to sample.
        room: Maximum number of sampled tokens.
        ends: Tokens that end the turn.
        turn: Gets the turn or an error; cancelled if the caller does not wait any more.
    """

    id: str
    prompt: Sequence[int]
    sampling: Sampling
    room: int
    ends: frozenset[int]
    turn: Future[Turn] = field(default_factory=Future)
    chance: random.Random = field(default_factory=random.Random)
    slot: int = -1
    tokens: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)

    def finish(self, stop: str) -> None:
        """Return the tokens sampled so far as the turn."""
        if self.turn.set_running_or_notify_cancel():
            self.turn.set_result(Turn(self.tokens, self.logprobs, stop))

    def fail(self, error: BaseException) -> None:
        """Raise an error where the caller waits."""
        if self.turn.set_running_or_notify_cancel():
            self.turn.set_exception(error)


@dataclass
class Statistics:
    """Counts since the start.

    Attributes:
        requests: Finished turns.
        steps: Forward passes.
        sampled: Sampled tokens.
        prefilled: Prompt tokens that were computed.
        reused: Prompt tokens whose keys and values were in the slot already.
        copied: Prompt tokens whose keys and values were copied from another slot.
    """

    requests: int = 0
    steps: int = 0
    sampled: int = 0
    prefilled: int = 0
    reused: int = 0
    copied: int = 0


class Scheduler:
    """Chooses the tokens of each step, at most ``chunk`` of prompts; runs in one thread."""

    def __init__(self, runner: Runner, slots: int, length: int, *, seed: int, chunk: int) -> None:
        self.runner, self._seed, self._chunk = runner, seed, chunk
        self.table = SlotTable(slots, length, shares=isinstance(runner, PackedRunner))
        self.statistics = Statistics()
        self._waiting: list[Request] = []
        self._active: list[Request] = []
        self._turns: dict[str, int] = {}

    @property
    def idle(self) -> bool:
        """Whether there are no requests."""
        return not self._waiting and not self._active

    def add(self, request: Request) -> None:
        """Add a request."""
        if request.sampling.seed is not None:
            request.chance = random.Random(request.sampling.seed)
        else:
            turn = self._turns.pop(request.id, 0)
            self._turns[request.id] = turn + 1  # move to the end, so that the oldest are dropped first
            if len(self._turns) > _MOST_CONVERSATIONS:
                del self._turns[next(iter(self._turns))]
            request.chance = chance(self._seed, request.id, turn)
        self._waiting.append(request)

    def step(self) -> None:
        """Compute one step: the next token of every current turn, and a part of the new prompts.

        Raises:
            Exception: An error of the model; the requests are kept.
        """
        self._remove(lambda request: request.turn.done())  # cancelled
        self._admit()
        segments, requests = self._choose()
        if not segments:
            return
        logits = self.runner.forward(segments)
        self.statistics.steps += 1
        wanted = []
        for segment, request in zip(segments, requests, strict=True):
            self.table.advance(segment.slot, len(segment.ids))
            if segment.wanted:
                wanted.append(request)
        self._sample(logits, wanted)

    def abort(self) -> list[str]:
        """End all turns with the tokens sampled so far; return the ids of the conversations."""
        everyone = self._remove(lambda request: True)
        for request in everyone:
            request.finish("aborted")
        return [request.id for request in everyone]

    def fail(self, error: Callable[[], BaseException]) -> None:
        """Fail all requests, each with an error of its own, and drop all cached keys and values."""
        everyone = self._remove(lambda request: True)
        self.clear()
        for request in everyone:
            request.fail(error())

    def clear(self) -> None:
        """Drop all cached keys and values; current turns are recomputed and continue."""
        self.table.clear()
        self.runner.clear()

    def forget(self, request_id: str) -> None:
        """Free the slot of a finished conversation."""
        self._turns.pop(request_id, None)
        self.table.forget(request_id)

    def _remove(self, which: Callable[[Request], bool]) -> list[Request]:
        """Remove some requests, and return them."""
        active = [request for request in self._active if which(request)]
        for request in active:
            self.table.release(request.slot)
            self._active.remove(request)
        waiting = [request for request in self._waiting if which(request)]
        for request in waiting:
            self._waiting.remove(request)
        return [*active, *waiting]

    def _admit(self) -> None:
        """Assign slots to waiting requests, except those that wait for a shared prefix to be computed."""
        kept: list[Request] = []
        for request in self._waiting:
            found = self.table.assign(request.id, request.prompt)
            if found is None:
                kept.append(request)
                continue
            if found.source == found.slot:
                self.statistics.reused += found.count
            elif isinstance(self.runner, PackedRunner):
                self.runner.slots.copy(found.source, found.slot, found.count)
                self.statistics.copied += found.count
            request.slot = found.slot
            self._active.append(request)
        self._waiting = kept

    def _choose(self) -> tuple[list[Segment], list[Request]]:
        segments, requests, left = [], [], self._chunk
        for request in self._active:
            slot = request.slot
            count = missing = self.table.missing(slot)
            if missing > 1:  # more than the token sampled last, or a prompt's last one
                count = min(missing, left)
                left -= count
                self.statistics.prefilled += count
            if count:
                tokens = self.table.next_tokens(slot, count)
                segments.append(Segment(slot, self.table.computed(slot), tokens, count == missing))
                requests.append(request)
        return segments, requests

    def _sample(self, logits: Any, requests: list[Request]) -> None:
        if not requests:
            return
        drawn, logprobs = draw(
            logits, [request.sampling for request in requests], [request.chance for request in requests]
        )
        self.statistics.sampled += len(drawn)
        for request, token, logprob in zip(requests, drawn, logprobs, strict=True):
            request.tokens.append(token)
            request.logprobs.append(logprob)
            ended = token in request.ends
            if ended or len(request.tokens) >= request.room:
                self.statistics.requests += 1  # first: who waits for the turn may look at once
                request.finish("stop" if ended else "length")
            else:
                self.table.append(request.slot, token)
        self._remove(lambda request: request.turn.done())
