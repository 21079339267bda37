"""One episode in tokens, whatever engine samples them: what a trainer needs of it, exactly as it was sampled.

The turn loop is that of every other rollout (`simia_gym.rollout.play`); here stands only the policy that speaks in
tokens. What it samples is appended as it is and never rendered again, so the mask marks precisely the policy's own
tokens and each has the log-probability with which it was drawn.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from simia_gym.episode import Episode
from simia_gym.errors import Cut, Fault, InputError
from simia_gym.rl.chat.tokens import template_message
from simia_gym.rollout.play import play_new, timed_out
from simia_gym.types import FaultInfo, Message, Task

T = TypeVar("T")


class Conversation(Protocol):
    """The tokens of one episode, append-only.

    Attributes:
        ids: All token ids, the prompt's first.
        mask: As long; 1 where the policy sampled the token.
        logprobs: As long; 0.0 where it did not, or where nobody asked for them.
        prompt_length: How many of the ids are the prompt.
    """

    @property
    def ids(self) -> list[int]:
        """All token ids."""
        ...

    @property
    def mask(self) -> list[int]:
        """Which of them the policy sampled."""
        ...

    @property
    def logprobs(self) -> list[float]:
        """With which log-probability."""
        ...

    @property
    def prompt_length(self) -> int:
        """Length of the prompt."""
        ...

    def said(self, token_ids: Sequence[int], logprobs: Sequence[float] | None, /) -> str | Awaitable[str]:
        """Append what was sampled; give the text of the action, without the end of the turn."""
        ...

    def heard(self, messages: Sequence[Message], /) -> Awaitable[None] | None:
        """Append what the environment said, and the beginning of the policy's next turn."""
        ...


class Sampled(Protocol):
    """What an engine sampled.

    Attributes:
        token_ids: The tokens, the end of the turn included where it came.
        logprobs: Their log-probabilities under the sampling temperature.
        stop: ``stop``, ``length`` (the limit came first) or ``aborted``.
    """

    @property
    def token_ids(self) -> list[int]:
        """The tokens."""
        ...

    @property
    def logprobs(self) -> list[float] | None:
        """Their log-probabilities."""
        ...

    @property
    def stop(self) -> str:
        """Why it stopped."""
        ...


Begin = Callable[[Sequence[Message]], Conversation | Awaitable[Conversation]]
"""Makes the conversation of an episode from its first messages."""

Sample = Callable[[list[int], int], Awaitable[Sampled]]
"""Samples after these tokens, at most so many."""


@dataclass(frozen=True)
class Limits:
    """How many tokens an episode may have.

    Attributes:
        response: After the prompt: the policy's and the environment's together.
        prompt: In the prompt; a longer one is a fault and never cut.
        total: In all, where the model's context is shorter than both together.
        turn: In one turn of the policy.

    Raises:
        InputError: A limit is below 1.
    """

    response: int
    prompt: int | None = None
    total: int | None = None
    turn: int | None = None

    def __post_init__(self) -> None:
        """Refuse limits within which nothing can be said."""
        for name in ("response", "prompt", "total", "turn"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise InputError(f"the limit of tokens is {value}", where=name, fix="Give at least 1.")


@dataclass(frozen=True)
class Played:
    """A finished episode in tokens.

    Attributes:
        prompt_ids: The prompt; empty where a fault came before it.
        response_ids: What follows it, up to the policy's last token.
        response_mask: As long: 1 where the policy sampled the token; all 0 where the episode is not valid.
        response_logprobs: As long; 0.0 where the mask of what was played is 0.
        reward: The reward; ``None`` where the episode is not valid.
        valid: Whether the reward means anything.
        fault: What failed, where something did.
        success: Strict pass.
        turns: Actions that the policy took.
        tokens: Tokens that the policy sampled, also in an episode that is not valid.
        ended: Why it ended.
        task: The task's id.
        kind: The task's kind.
        messages: How many messages were exchanged, the system message left out.
        trace: A traceback, where something raised unexpectedly.
    """

    prompt_ids: list[int]
    response_ids: list[int]
    response_mask: list[int]
    response_logprobs: list[float]
    reward: float | None
    valid: bool
    fault: FaultInfo | None
    success: bool
    turns: int
    tokens: int
    ended: str
    task: str
    kind: str
    messages: int
    trace: str | None = field(default=None, repr=False)


async def play(
    episode: Episode,
    task: Task,
    *,
    seed: int,
    group: str,
    begin: Begin,
    sample: Sample,
    limits: Limits,
    timeout: float | None = None,
) -> Played:
    """Play one episode with tokens in and tokens out.

    Nothing that the environment or the engine raises gets out: it becomes a fault of the episode. A cancellation of the
    calling task does.

    Args:
        episode: A fresh episode.
        task: What it is about.
        seed: Its seed.
        group: Id of the episodes that share a world.
        begin: Makes the conversation.
        sample: Samples the policy's tokens.
        limits: How many tokens there may be. Where they are used up before the end, the episode is cut off there, as
            by the turn limit: judged as it stands, and valid.
        timeout: Seconds that it may take; then it is a fault.

    Returns:
        What was played.
    """
    speaker = _Speaker(begin, sample, limits)
    trace = None
    try:
        async with asyncio.timeout(timeout):
            trace = await play_new(episode, task, seed=seed, make_policy=lambda: speaker, group=group)
    except TimeoutError:
        episode.fail(timed_out())
    verdict, said = episode.verdict, speaker.conversation
    assert verdict is not None
    valid = verdict.valid and verdict.reward is not None
    start = 0 if said is None else said.prompt_length
    end = 0 if said is None else max((i for i, own in enumerate(said.mask, 1) if own), default=start)
    own = [] if said is None else said.mask[start:end]
    return Played(
        prompt_ids=[] if said is None else said.ids[:start],
        response_ids=[] if said is None else said.ids[start:end],
        response_mask=own if valid else [0] * len(own),
        response_logprobs=[] if said is None else said.logprobs[start:end],
        reward=verdict.reward if valid else None,
        valid=valid,
        fault=verdict.fault,
        success=verdict.success,
        turns=episode.turn,
        tokens=sum(own),
        ended=episode.ended or "",
        task=task.id,
        kind=task.kind,
        messages=max(0, len(episode.messages) - 1),
        trace=trace,
    )


class _Speaker:
    """The policy: hands what it hears to the conversation, and gives the text of what was sampled after it."""

    def __init__(self, begin: Begin, sample: Sample, limits: Limits) -> None:
        self._begin, self._sample, self._limits = begin, sample, limits
        self._heard = 0
        self.conversation: Conversation | None = None

    async def act(self, messages: Sequence[Message]) -> str:
        """Sample one turn."""
        new = [template_message(item) for item in messages[self._heard :] if item["role"] != "assistant"]
        self._heard = len(messages)
        conversation = self.conversation
        if conversation is None:
            conversation = self.conversation = await _result(self._begin(new))
            self._check_prompt(conversation.prompt_length)
        else:
            await _result(conversation.heard(new))
        room = self._room(conversation)
        if room < 1:
            raise Cut
        most = room if self._limits.turn is None else min(room, self._limits.turn)
        sampled = await self._sample(list(conversation.ids), most)
        if sampled.stop == "aborted" or not sampled.token_ids:
            raise Fault("no_tokens", f"the engine gave no whole turn ({sampled.stop})", role="policy")
        text = await _result(conversation.said(sampled.token_ids, sampled.logprobs))
        if sampled.stop == "length" and len(sampled.token_ids) >= room:
            raise Cut  # half an action is none
        return text

    def _check_prompt(self, length: int) -> None:
        most = self._limits.prompt
        if most is not None and length > most:
            message = f"the prompt has {length} tokens and may have {most}; it is never cut"
            raise Fault("prompt_too_long", message, role="episode")

    def _room(self, conversation: Conversation) -> int:
        """How many tokens may still follow."""
        used = len(conversation.ids)
        room = conversation.prompt_length + self._limits.response - used
        return room if self._limits.total is None else min(room, self._limits.total - used)


async def _result(value: T | Awaitable[T]) -> T:
    return await value if inspect.isawaitable(value) else value
