"""TRL's ``environment_factory``: an episode whose actions are method calls.

TRL shows the model an environment's methods as tools, executes its calls, and ends a rollout at the first turn without
a call. So every action is a method here: the domain's tools, ``send_message`` if there is a user, ``finish`` if agents
of the domain end the episode themselves. Give the trainer ``environment_factory=tool_environments(...)``, and its
``dataset()`` to train on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import isfunction
from typing import Any, ClassVar, cast

from simia_gym.assembly.suite import Suite
from simia_gym.common.event_loop import run_sync
from simia_gym.episode import Episode
from simia_gym.errors import Fault, InputError
from simia_gym.record.finished_episode import TURN_LIMIT
from simia_gym.rl.for_trl.rows import KEY, EpisodeRows, Source
from simia_gym.rl.for_trl.tool_methods import python_name, text_method, tool_methods
from simia_gym.rl.serving.tool_episode import written
from simia_gym.types import Action, End, JsonObject, Say, Task

OVER = "[The episode is over.]"
UNREACHABLE = "[The environment cannot be reached.]"

_TALK = "Write to the user and get their answer. Nothing else that you write reaches them."
_FINISH = "Say that the task is done. This ends the episode."


class ToolEnvironment:
    """One episode at a time, played by method calls. Subclasses from `tool_environments` have the tools as methods.

    Attributes:
        episode_rows: Maps a row of the dataset to task and seed.
        suite: The environment.
        method_names: Names of the methods, by the tools' names in the domain.
        text_names: Names of the methods for text actions: ``send_message`` and ``finish``.
        episode: The current episode.
    """

    episode_rows: ClassVar[EpisodeRows]
    suite: ClassVar[Suite]
    method_names: ClassVar[Mapping[str, str]]
    text_names: ClassVar[Mapping[type[Action], str]]

    def __init__(self) -> None:
        self.episode: Episode = self.suite.episode()

    def reset(self, **columns: Any) -> str:
        """Start the episode of a row of the dataset.

        Returns:
            The environment's first message. After a fault the episode is over and has no reward.

        Raises:
            InputError: The row is not from ``dataset()``, or its task is of another environment.
        """
        begin = self.episode_rows.find(columns.get(KEY))
        episode = self.episode
        work = episode.reset(begin.task, seed=begin.seed, group=begin.group())
        try:
            return run_sync(work, inline=episode.inline).observation
        except Fault as fault:
            episode.fail(fault)
            return UNREACHABLE

    def get_reward(self) -> float | None:
        """The reward of the episode; if the policy stopped early, of its current state.

        Returns:
            The reward; ``None`` after a fault, which TRL keeps out of the group's baseline.
        """
        episode = self.episode
        verdict = episode.verdict
        if verdict is None:  # TRL ends the rollout at a turn without a call
            verdict = run_sync(episode.cut(TURN_LIMIT), inline=episode.inline).verdict
        return None if verdict is None or not verdict.valid else verdict.reward

    def _act(self, action: Action) -> str:
        """Execute an action and return the environment's messages."""
        episode = self.episode
        if episode.ended is not None:
            return OVER if episode.fault is None else UNREACHABLE
        step = run_sync(episode.step(written(episode.domain.grammar, action)), inline=episode.inline)
        if episode.fault is not None:
            return UNREACHABLE
        said = [str(message["content"]) for message in step.messages]
        return "\n\n".join([*said, OVER] if step.terminated or step.truncated else said)


class ToolEnvironments(EpisodeRows):
    """An environment as TRL's ``environment_factory``, which creates the environments of one training.

    The method ``dataset()`` makes the dataset to train on.

    Args:
        source: The environment's id, or a loaded `Suite`.
        **settings: As for ``gymnasium.make``: ``prompt``, ``split``, ``generated``, ``simulator``, ``model``, ...

    Attributes:
        suite: The environment, loaded.
        environment_class: The class with the tools.
        tool_names: Names of its tools.

    Raises:
        InputError: A setting is wrong.
    """

    def __init__(self, source: Source, **settings: Any) -> None:
        super().__init__([source], settings)
        (suite,) = self.suites.values()
        if suite.history is not None:
            what = f"TRL shows the policy the whole transcript, and history is {suite.history.name!r}"
            raise InputError(what, where="history", fix="Give history='transcript', or use episodes_rollout.")
        self.suite = suite
        self.environment_class = _environment_class(suite, self)
        self.tool_names = tuple(name for name, made in vars(self.environment_class).items() if isfunction(made))

    def __call__(self) -> ToolEnvironment:
        """Create an environment."""
        return self.environment_class()

    @property
    def system_message(self) -> str:
        """The system message: the domain's policy, and the rule that every action is a tool call."""
        domain, kind = self.suite.domain, self.suite.config.prompt
        policy = domain.prompts[kind].removesuffix(domain.how_to_act(compact=kind == "compact")).strip()
        talk = " Write to the user with send_message: it alone reaches them." if domain.user is not None else ""
        act = f"# How to act\n\nEverything you do is a tool call.{talk} A reply without a tool call ends your work."
        return f"{policy}\n\n{act}"

    def _prompt(self, suite: Suite, task: Task) -> list[JsonObject]:
        # TRL appends the first observation to the last message.
        return [{"role": "system", "content": self.system_message}, {"role": "user", "content": ""}]


tool_environments = ToolEnvironments


def _environment_class(suite: Suite, episode_rows: EpisodeRows) -> type[ToolEnvironment]:
    domain = suite.domain
    extra: dict[str, Callable[..., str]] = {}
    text_names: dict[type[Action], str] = {}
    names = {str(tool["function"]["name"]) for tool in domain.tools}

    def add(action: type[Say | End], name: str, argument: str, description: str, about: str) -> None:
        free = text_names[action] = python_name(name, "tool", names)
        extra[free] = text_method(
            free, argument, description, about, lambda self, text: self._act(action(text.strip()))
        )

    if domain.user is not None:
        add(Say, "send_message", "text", _TALK, "What you write.")
    if domain.replies == "end":
        add(Say, "finish", "text", _FINISH, "Your answer, or a word where none was asked for.")
    elif domain.has_end:
        add(End, "finish", "answer", _FINISH, "Your answer, or an empty text where none was asked for.")
    methods = tool_methods(domain.tools, lambda self, action: str(self._act(action)), taken=list(extra))
    name = "".join(part.capitalize() for part in domain.name.split("_"))
    members: dict[str, Any] = {"suite": suite, "episode_rows": episode_rows, "text_names": text_names}
    members["method_names"] = dict(zip((str(tool["function"]["name"]) for tool in domain.tools), methods, strict=True))
    members |= {**methods, **extra}
    return cast("type[ToolEnvironment]", type(f"{name}Environment", (ToolEnvironment,), members))
