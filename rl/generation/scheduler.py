"""Continuous batching: requests join at every step, and leave when their turn is finished."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Sequence
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
        finish: Called once with the turn.
        fail: Called once with the error, if there is no turn.
        dropped: Whether the caller has been cancelled.
    """

    id: str
    prompt: Sequence[int]
    sampling: Sampling
    room: int
    ends: frozenset[int]
    finish: Callable[[Turn], None]
    fail: Callable[[BaseException], None]
    dropped: Callable[[], bool]
    chance: random.Random = field(default_factory=random.Random)
    slot: int = -1
    tokens: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)


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
        self.table = SlotTable(slots, length, shares=runner.shares)
        self.statistics = Statistics()
        self._waiting: deque[Request] = deque()
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
        self._drop()
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
        everyone = [*self._active, *self._waiting]
        for request in self._active:
            self.table.release(request.slot)
        self._active, self._waiting = [], deque()
        for request in everyone:
            request.finish(Turn(request.tokens, request.logprobs, "aborted"))
        return [request.id for request in everyone]

    def fail(self, error: BaseException) -> None:
        """Fail all requests and drop all cached keys and values."""
        everyone = [*self._active, *self._waiting]
        for request in self._active:
            self.table.release(request.slot)
        self._active, self._waiting = [], deque()
        self.stale()
        for request in everyone:
            request.fail(error)

    def stale(self) -> None:
        """Drop what was computed with the old weights; current turns are recomputed and continue with the new ones."""
        self.table.stale()
        self.runner.clear()

    def forget(self, request_id: str) -> None:
        """Free the slot of a finished conversation."""
        self._turns.pop(request_id, None)
        slot = self.table.forget(request_id)
        if slot is not None and not self.runner.shares:
            self.runner.forget(slot)

    def _drop(self) -> None:
        """Remove the requests of cancelled callers."""
        gone = [request for request in self._active if request.dropped()]
        for request in gone:
            self.table.release(request.slot)
            self._active.remove(request)
        if self._waiting and any(request.dropped() for request in self._waiting):
            self._waiting = deque(request for request in self._waiting if not request.dropped())

    def _admit(self) -> None:
        """Assign slots to waiting requests, except those that wait for a shared prefix to be computed."""
        kept: deque[Request] = deque()
        while self._waiting and self.table.free:
            request = self._waiting.popleft()
            found = self.table.find(request.id, request.prompt)
            if found is None:
                kept.append(request)
                continue
            if found.source is not None:
                self.runner.copy(found.source, found.slot, found.copied)
                self.statistics.copied += found.copied - found.kept
            self.statistics.reused += found.kept
            self.table.take(found, request.id, request.prompt)
            request.slot = found.slot
            self._active.append(request)
        self._waiting.extendleft(reversed(kept))

    def _choose(self) -> tuple[list[Segment], list[Request]]:
        segments, requests, left = [], [], self._chunk
        for request in self._active:
            prompt, said = request.prompt, request.tokens
            start = self.table.computed(request.slot)
            end = len(prompt) + len(said)
            if end - start == 1:  # only the token sampled last, or a prompt's last one
                ids = said[-1:] or prompt[-1:]
            elif left > 0:
                size = min(end - start, left)
                left -= size
                self.statistics.prefilled += size
                ids = prompt[start : start + size]
                if len(ids) < size:  # sampled tokens are recomputed, since the weights have changed
                    first = max(0, start - len(prompt))
                    ids = [*ids, *said[first : first + size - len(ids)]]
            else:
                continue
            segments.append(Segment(request.slot, start, ids, start + len(ids) == end))
            requests.append(request)
        return segments, requests

    def _sample(self, logits: Any, requests: list[Request]) -> None:
        if not requests:
            return
        drawn, logprobs = draw(
            logits, [request.sampling for request in requests], [request.chance for request in requests]
        )
        self.statistics.sampled += len(drawn)
        done = False
        for request, token, logprob in zip(requests, drawn, logprobs, strict=True):
            request.tokens.append(token)
            request.logprobs.append(logprob)
            stop: str | None = None
            if token in request.ends:
                stop = "stop"
            elif len(request.tokens) >= request.room:
                stop = "length"
            if stop is None:
                self.table.append(request.slot, token)
                continue
            done = True
            self.table.release(request.slot)
            request.slot = -1
            self.statistics.requests += 1
            request.finish(Turn(request.tokens, request.logprobs, stop))
        if done:
            self._active = [request for request in self._active if request.slot >= 0]
