"""Plays one episode in tokens with any inference engine and returns exactly the tokens that were sampled.

`simia_gym.rollout.play` runs the turns; this module adds the policy that samples tokens. Sampled tokens are appended
as they are and never encoded again, so the mask marks exactly the policy's tokens, and each token has the
log-probability with which it was sampled.

Where the setting ``history`` shows the policy a new prompt each turn, each turn is a conversation of its own, and the
tokens of the episode are those of one turn, drawn with equal probability, of which the reward is a fair sample.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Protocol, TypeVar

from simia_gym.actions.assistant import LENGTH, RecordedAction
from simia_gym.episode import Episode
from simia_gym.errors import Cut, Fault, InputError
from simia_gym.rl.chat.tokens import template_message
from simia_gym.rollout.play import play_new, timed_out
from simia_gym.types import FaultInfo, Message, Task

T = TypeVar("T")


class Conversation(Protocol):
    """The tokens of one episode, append-only.

    Attributes:
        ids: All token ids, those of the prompt first.
        mask: 1 for each token that the policy sampled, else 0; as long as ``ids``.
        logprobs: Log-probabilities of the sampled tokens, else 0.0; as long as ``ids``.
        prompt_length: Number of tokens of the prompt.
    """

    ids: list[int]
    mask: list[int]
    logprobs: list[float]
    prompt_length: int

    def said(self, token_ids: Sequence[int], logprobs: Sequence[float] | None, /) -> str | Awaitable[str]:
        """Append a sampled turn; return the text of the action, without the token that ends the turn."""

    def heard(self, messages: Sequence[Message], /) -> Awaitable[None] | None:
        """Append messages of the environment, and the tokens that open the policy's next turn."""


@dataclass(frozen=True)
class Turn:
    """A sampled turn.

    Attributes:
        token_ids: The sampled tokens; the one that ended the turn is the last of them.
        logprobs: Log-probability of each token under the temperature, over the whole vocabulary: as in a trainer,
            ``top_p`` and ``top_k`` do not change it. With temperature 0 it is that of temperature 1. ``None`` if the
            engine gives none.
        stop: Why the turn ended: ``stop`` (a token that ends turns), ``length`` (the limit) or ``aborted``.
    """

    token_ids: list[int]
    logprobs: list[float] | None
    stop: str


Begin = Callable[[Sequence[Message]], Conversation | Awaitable[Conversation]]
"""Creates the conversation of an episode from its initial messages."""

Sample = Callable[[list[int], int], Awaitable[Turn]]
"""Samples a turn: takes the tokens so far and the maximum number of new tokens."""


@dataclass(frozen=True)
class Limits:
    """Maximum numbers of tokens of an episode.

    Attributes:
        response: Tokens after the prompt, of the policy and the environment.
        prompt: Tokens of the prompt; a longer prompt is a fault and never truncated.
        total: Tokens of prompt and response, if the model's context is shorter than both limits together.
        turn: Tokens of one turn of the policy.

    Raises:
        InputError: A limit is below 1.
    """

    response: int
    prompt: int | None = None
    total: int | None = None
    turn: int | None = None

    def __post_init__(self) -> None:
        """Check the limits."""
        for name in ("response", "prompt", "total", "turn"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise InputError(f"the limit of tokens is {value}", where=name, fix="Give at least 1.")


@dataclass(frozen=True, kw_only=True)
class Played:
    """A finished episode in tokens.

    Attributes:
        prompt_ids: The prompt; empty if a fault occurred before it.
        response_ids: The tokens after the prompt, up to the policy's last token.
        response_mask: 1 for each token that the policy sampled; all 0 if the episode is not valid.
        response_logprobs: Log-probabilities of the sampled tokens, else 0.0; as long as ``response_ids``.
        reward: The reward; ``None`` if the episode is not valid.
        valid: Whether there is a reward.
        fault: The fault, if there was one.
        success: Strict pass.
        turns: Actions that the policy took.
        tokens: Number of tokens that the policy sampled in all turns, also in an episode that is not valid.
        ended: Why the episode ended.
        task: The task's id.
        kind: The task's kind.
        messages: Number of messages without the system message.
        trace: The traceback of an unexpected exception.
    """

    task: str
    kind: str
    prompt_ids: list[int] = field(default_factory=list)
    response_ids: list[int] = field(default_factory=list)
    response_mask: list[int] = field(default_factory=list)
    response_logprobs: list[float] = field(default_factory=list)
    reward: float | None = None
    valid: bool = False
    fault: FaultInfo | None = None
    success: bool = False
    turns: int = 0
    tokens: int = 0
    ended: str = "fault"
    messages: int = 0
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
    """Play one episode, tokens in and tokens out.

    An exception of the environment or the engine becomes a fault of the episode; a cancellation of the calling task is
    raised.

    Args:
        episode: A new episode.
        task: The task.
        seed: The episode's seed.
        group: Id of the group, whose episodes share a world.
        begin: Creates the conversation.
        sample: Samples a turn.
        limits: Maximum numbers of tokens. When they are reached the episode is truncated, as at the turn limit: its
            verdict is valid.
        timeout: Seconds after which the episode ends with a fault.
    """
    speaker = _Speaker(begin, sample, limits)
    trace = None
    try:
        async with asyncio.timeout(timeout):
            trace = await play_new(episode, task, seed=seed, make_policy=lambda: speaker, group=group)
    except TimeoutError:
        episode.fail(timed_out())
    verdict, talks = episode.verdict, speaker.conversations
    assert verdict is not None
    valid = verdict.valid and verdict.reward is not None
    ids, mask, logprobs, start = list[int](), list[int](), list[float](), 0
    if talks:
        talk = Random(str([talk.ids for talk in talks])).choice(talks)
        ids, mask, logprobs, start = talk.ids, talk.mask, talk.logprobs, talk.prompt_length
    end = max((i for i, own in enumerate(mask, 1) if own), default=start)
    return Played(
        prompt_ids=ids[:start],
        response_ids=ids[start:end],
        response_mask=mask[start:end] if valid else [0] * (end - start),
        response_logprobs=logprobs[start:end],
        reward=verdict.reward if valid else None,
        valid=valid,
        fault=verdict.fault,
        success=verdict.success,
        turns=episode.turn,
        tokens=sum(sum(talk.mask) for talk in talks),
        ended=episode.ended or "",
        task=task.id,
        kind=task.kind,
        messages=max(0, len(episode.messages) - 1),
        trace=trace,
    )


class _Speaker:
    """The policy of an episode: appends new messages to the conversation, or begins another, and samples a turn."""

    def __init__(self, begin: Begin, sample: Sample, limits: Limits) -> None:
        self._begin, self._sample, self._limits = begin, sample, limits
        self._shown: Sequence[Message] = ()
        self.conversations: list[Conversation] = []

    async def act(self, messages: Sequence[Message]) -> str:
        """Sample one turn."""
        limits = self._limits
        goes_on = continues(messages, self._shown)
        new = messages[len(self._shown) if goes_on else 0 :]
        new = [template_message(item) for item in new if item["role"] != "assistant"]
        self._shown = messages
        if goes_on:
            conversation = self.conversations[-1]
            await _result(conversation.heard(new))
        else:
            conversation = await _result(self._begin(new))
            length, longest = conversation.prompt_length, limits.prompt
            if longest is not None and length > longest:
                if self.conversations:
                    raise Cut
                message = f"the prompt has {length} tokens and may have {longest}; it is never cut"
                raise Fault("prompt_too_long", message, role="episode")
            self.conversations.append(conversation)
        used = len(conversation.ids)
        room = conversation.prompt_length + limits.response - used
        if limits.total is not None:
            room = min(room, limits.total - used)
        if room < 1:
            raise Cut
        most = room if limits.turn is None else min(room, limits.turn)
        sampled = await self._sample(list(conversation.ids), most)
        if sampled.stop == "aborted" or not sampled.token_ids:
            raise Fault("no_tokens", f"the engine gave no whole turn ({sampled.stop})", role="policy")
        text = await _result(conversation.said(sampled.token_ids, sampled.logprobs))
        if sampled.stop == "length" and len(sampled.token_ids) >= room:
            raise Cut  # an incomplete action is not executed
        return RecordedAction(text, {"finish_reason": LENGTH}) if sampled.stop == LENGTH else text


def continues(messages: Sequence[Message], shown: Sequence[Message]) -> bool:
    """Whether messages are those that were shown before, with the policy's turn and others after them."""
    return 0 < len(shown) < len(messages) and list(messages[: len(shown)]) == list(shown)


async def _result(value: T | Awaitable[T]) -> T:
    return await value if inspect.isawaitable(value) else value
