"""The initial prompts of an environment's tasks, and their length in tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from simia_gym.assembly.suite import LLM, Suite, load_suite
from simia_gym.common.event_loop import run_sync
from simia_gym.errors import InputError
from simia_gym.rl.chat.tokens import ChatTokens, template_message
from simia_gym.types import Message, Task

_SEEDS = 4
"""Seeds for which a task's prompt is measured: a user may open the conversation in several ways."""


class InitialPrompts:
    """The initial prompts of an environment's tasks."""

    def __init__(self, suite: Suite, chat: ChatTokens) -> None:
        self._tasks, self._suite, self._chat = suite.tasks, _without_models(suite), chat
        self._known: dict[int, tuple[Task, tuple[Message, ...], int]] = {}
        self._head: tuple[list[Message], list[int]] | None = None

    def of(self, position: int) -> tuple[Task, tuple[Message, ...], int]:
        """A task, its longest initial prompt, and the prompt's length in tokens."""
        if position not in self._known:
            task = self._tasks[position]
            starts = {}
            for seed in range(_SEEDS):
                episode = self._suite.episode()
                start = run_sync(episode.reset(task, seed=seed), inline=episode.inline)
                starts[start.observation] = tuple(episode.shown)
                run_sync(episode.close(), inline=episode.inline)
            measured = [(self._length(messages), messages) for messages in starts.values()]
            length, messages = max(measured, key=lambda item: item[0])
            self._known[position] = (task, messages, length)
        return self._known[position]

    def _length(self, messages: Sequence[Message]) -> int:
        """Length of a prompt. The system message is long and the same for all tasks, so it is encoded once."""
        system, *rest = [template_message(message) for message in messages]
        if self._head is None or self._head[0] != [system]:
            whole = self._chat.prompt(messages)
            tail = len(self._chat.heard(rest, None))
            self._head = ([system], whole[: len(whole) - tail])
            return len(whole)
        return len(self._head[1]) + len(self._chat.heard(rest, None))


def _without_models(suite: Suite) -> Suite:
    """The same environment without models, which its initial prompts do not need.

    If a model plays the user, its first message is unknown; that of the domain's own user is taken instead.
    """
    config, domain = suite.config, suite.domain
    user = config.user or domain.user
    if user == LLM:
        user = domain.user if domain.user != LLM else "brief"
    world = "world" if domain.world is not None else config.simulator
    if user == (config.user or domain.user) and world == suite.simulator_name and config.judge is None:
        return suite
    plain = replace(
        config, simulator=world, user=None if user == domain.user else user, judge=None, votes=1, model=None, roles={},
        routes={}, shadow=False, strategy="auto", replay_from=config.replay_from if world == "replay" else None,
    )  # fmt: skip
    try:
        return load_suite(plain)
    except InputError:
        return suite
