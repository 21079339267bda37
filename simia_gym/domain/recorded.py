"""What a domain's function ``recorded`` yields: an episode of the real benchmark, run again in the domain's world."""

from __future__ import annotations

from dataclasses import dataclass

from simia_gym.types import Message, Task, ToolCall


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """A recorded call.

    Attributes:
        call: The call.
        expected: What the real benchmark answered.
        got: What the domain's world answers.
        expected_error: Whether the real answer is an error.
        got_error: Whether the world's is.
    """

    call: ToolCall
    expected: str
    got: str
    expected_error: bool
    got_error: bool


@dataclass(frozen=True, slots=True)
class RecordedRollout:
    """A recorded episode.

    Attributes:
        id: Its id in the file.
        line: Its number in the file, from 1.
        calls: Its calls that were answered, in order.
        turns: Number of messages of the agent.
        expected: The recorded reward; ``None`` if there is none.
        reward: The reward in the domain; ``None`` if it cannot be computed.
        task: The task, whose goal means nothing if there is no such reward; ``None`` if models cannot play the tools.
        messages: What user and agent said in OpenAI's layout, from the user's first message on, with the agent's calls
            that were answered and without the answers.
        ended: Whether user or agent ended it.
    """

    id: str
    line: int
    calls: tuple[RecordedCall, ...]
    turns: int
    expected: float | None
    reward: float | None
    task: Task | None = None
    messages: tuple[Message, ...] = ()
    ended: bool = True
