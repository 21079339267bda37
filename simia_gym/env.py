"""`SimiaEnv`, the Gymnasium environment."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, Literal, cast

import gymnasium

from simia_gym.actions.calls import MAX_CHARACTERS
from simia_gym.assembly.resources import RESOURCE_NAMES, Resources
from simia_gym.assembly.settings import EnvConfig
from simia_gym.assembly.suite import Suite, load_suite
from simia_gym.assembly.task_order import Order, TaskOrder
from simia_gym.common.event_loop import run_sync
from simia_gym.domain.tasks import task_from_json
from simia_gym.domain.world import WorldSimulator
from simia_gym.episode import Episode
from simia_gym.errors import Fault, InputError
from simia_gym.spaces import TextSpace
from simia_gym.state import thaw
from simia_gym.types import Message, PolicyAction, Start, Step, Task

logger = logging.getLogger("simia_gym")
OnFault = Literal["truncate", "raise"]
_SETTINGS = tuple(item.name for item in dataclasses.fields(EnvConfig) if item.name not in ("env", "options"))

_BOTH: Mapping[str, Callable[[Any], bool]] = {
    "simulator": lambda value: not isinstance(value, str),
    "pins": lambda value: hasattr(value, "answer"),
}
"""Names that are both settings and live resources, with a test for whether a value is the live resource."""


def sort_kwargs(env_id: str, kwargs: Mapping[str, Any]) -> tuple[EnvConfig, Resources]:
    """Sort the keyword arguments of `gymnasium.make` into settings, live resources and options of the domain's world.

    Raises:
        InputError: A setting has an impossible value.
    """
    if not isinstance(kwargs.get("options", {}), Mapping):
        raise InputError(f"options is {kwargs['options']!r}", where="options", fix="Give a dictionary.")
    live = {name: value for name, value in kwargs.items() if name in RESOURCE_NAMES and name not in _BOTH}
    settings = {name: value for name, value in kwargs.items() if name in _SETTINGS}
    for name, is_part in _BOTH.items():
        if name in settings and is_part(settings[name]):
            live[name] = settings.pop(name)
    options = {
        **kwargs.get("options", {}),
        **{k: v for k, v in kwargs.items() if k not in (*_SETTINGS, *RESOURCE_NAMES, "options")},
    }
    return EnvConfig(env=env_id, options=options, **settings), Resources(**live)


def make_suite(env_id: str, kwargs: Mapping[str, Any]) -> Suite:
    """Load the environment that the keyword arguments of `gymnasium.make` describe, and log its warnings."""
    suite = load_suite(*sort_kwargs(env_id, kwargs))
    for warning in suite.warnings:
        logger.warning("%s: %s", env_id, warning)
    return suite


def spaces_of(suite: Suite) -> tuple[TextSpace, TextSpace]:
    """The observation and action space of an environment."""
    samples = suite.domain.config.samples
    return TextSpace(), TextSpace(max_length=MAX_CHARACTERS, samples=samples)


def known_on_fault(value: str) -> OnFault:
    """Check the setting ``on_fault``.

    Raises:
        InputError: The value is neither ``truncate`` nor ``raise``.
    """
    if value not in ("truncate", "raise"):
        raise InputError(f"on_fault is {value!r}", where="on_fault", fix="Use truncate or raise.")
    return cast(OnFault, value)


def pick_task(
    suite: Suite, order: TaskOrder, generator: Any, options: Mapping[str, Any] | None
) -> tuple[Task, int, str]:
    """Choose the next task, the episode's seed and its group.

    Args:
        suite: The loaded environment.
        order: Chooses the task if ``options`` names none.
        generator: The environment's NumPy generator; the only source of randomness.
        options: ``{"task": ...}`` selects a task by id, or gives a whole task as `Task` or dictionary;
            ``{"group": id}`` makes the episodes with this id share a simulator's answers.

    Returns:
        The task, the episode's seed and its group id.

    Raises:
        InputError: There is no such task, or no such option.
    """
    unknown = sorted(set(options or {}) - {"task", "group"})
    if unknown:
        raise InputError(f"reset has no option {unknown[0]!r}", where="options", fix="Options: task, group.")
    drawn, seed = int(generator.integers(len(suite.tasks))), int(generator.integers(2**31))
    chosen, group = (options or {}).get("task"), str((options or {}).get("group", ""))
    if chosen is None:
        return suite.tasks[order.next(drawn)], seed, group
    if isinstance(chosen, Task):
        return chosen, seed, group
    task = task_from_json(chosen, "options['task']") if isinstance(chosen, dict) else suite.task(str(chosen))
    return task, seed, group


def progress_of(episode: Episode) -> dict[str, Any]:
    """The picklable progress of an episode; only its settings if the simulator keeps data outside the state."""
    if not (episode.inline and isinstance(episode.simulator, WorldSimulator)):
        return {"max_turns": episode.max_turns}
    shared = ("domain", "simulator", "user", "reward")
    return {name: value for name, value in vars(episode).items() if name not in shared}


def resumed(suite: Suite, progress: Mapping[str, Any]) -> Episode:
    """A new episode that continues from the result of `progress_of`."""
    episode = suite.episode()
    vars(episode).update(progress)
    return episode


class SimiaEnv(gymnasium.Env[str, str]):
    """A Gymnasium environment whose observations and actions are texts; the reward comes at the last step.

    The first observation is the environment's first message. ``info["messages"]`` holds the environment's new chat
    messages (at reset: the system message and the first message), and at reset ``info["tools"]`` holds the tool
    schemas. The last step's info has ``verdict`` (a `Verdict`), ``reward_valid``, ``success`` and ``ended``. If the
    infrastructure failed, it also has ``fault``: then ``truncated`` is true, and the reward of 0.0 is invalid.

    Args:
        env_id: The registered id.
        render_mode: ``ansi`` for the transcript as text.
        on_fault: ``truncate`` ends the episode with an invalid verdict, ``raise`` raises the `Fault`.
        task_order: ``random`` draws each task from all tasks; ``shuffled`` and ``listed`` play every task once before
            any task is repeated, and ``info["epoch"]`` at reset is the number of completed passes.
        **kwargs: Settings of `EnvConfig` and fields of `Resources`; any other name is an option of the domain's world.
    """

    metadata: dict[str, Any] = {"render_modes": ["ansi"], "render_fps": 1}  # noqa: RUF012 - Gymnasium's own layout

    def __init__(
        self,
        env_id: str,
        *,
        render_mode: str | None = None,
        on_fault: OnFault = "truncate",
        task_order: Order = "random",
        **kwargs: Any,
    ) -> None:
        self.render_mode = render_mode
        self.on_fault = known_on_fault(on_fault)
        self.suite = make_suite(env_id, kwargs)
        self.task_order = TaskOrder(task_order, len(self.suite.tasks))
        self.episode = self.suite.episode()
        self.observation_space, self.action_space = spaces_of(self.suite)

    @property
    def tasks(self) -> Sequence[Task]:
        """The tasks that resets draw from: the fixed ones of the split, then the generated ones."""
        return self.suite.tasks

    def __getstate__(self) -> dict[str, Any]:
        """Pickle the settings, and the running episode if no model takes part; otherwise the copy needs a reset."""
        return {**vars(self), "episode": progress_of(self.episode)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Load the environment again from its settings."""
        vars(self).update(state)
        self.episode = resumed(self.suite, state["episode"])

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """Begin an episode.

        Args:
            seed: Seeds the generator that draws this and all later tasks and episode seeds.
            options: ``{"task": ...}`` selects the task by its id, or gives a whole task; ``{"group": id}``: within a
                group, a model gives the same answer to the same tool call in the same state.

        Returns:
            The environment's first message, and info with ``messages``, ``tools``, ``task``, ``seed``.
        """
        super().reset(seed=seed)
        if seed is not None:
            self.task_order.restart(seed)
        task, episode_seed, group = pick_task(self.suite, self.task_order, self.np_random, options)
        start = run_sync(self.episode.reset(task, seed=episode_seed, group=group), inline=self.episode.inline)
        return start.observation, reset_info(self.suite, start, self.task_order.epoch)

    def step(self, action: PolicyAction) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Take one action.

        Args:
            action: The policy's text, or an assistant message in OpenAI's layout (the action space holds texts only).

        Returns:
            Observation, reward, terminated, truncated, info.
        """
        step = run_sync(self.episode.step(action), inline=self.episode.inline)
        if self.episode.fault is not None:
            if self.on_fault == "raise":
                raise self.episode.fault
            log_once(self.episode.fault)
        return step.observation, step.reward, step.terminated, step.truncated, step_info(step)

    def render(self) -> str | None:
        """The transcript so far as text, in mode ``ansi``."""
        return transcript_text(self.episode.messages) if self.render_mode == "ansi" else None


@cache
def _logged(role: str, kind: str) -> list[bool]:
    return []


def log_once(fault: Fault) -> None:
    """Log the first fault of each role and kind, so that an endpoint that is down does not look like a bad policy."""
    logged = _logged(fault.role, fault.kind)
    if not logged:
        logged.append(True)
        text = "%s; the episode is truncated and its reward means nothing (info['reward_valid']). Logged once a kind."
        logger.warning(text, fault)


def reset_info(suite: Suite, start: Start, epoch: int | None) -> dict[str, Any]:
    """The info of a reset; the caller may change it."""
    info = {**start.info, "messages": list(start.messages), "tools": thaw(suite.domain.tools)}
    return info if epoch is None else {**info, "epoch": epoch}


def step_info(step: Step) -> dict[str, Any]:
    """The info of a step."""
    return {**step.info, "messages": list(map(dict, step.messages))}


def transcript_text(messages: list[Message]) -> str:
    """A readable transcript: one block per message, without the system message."""
    blocks = []
    for message in messages:
        if message["role"] == "system":
            continue
        calls = [call["function"] for call in message.get("tool_calls", ())]
        lines = [message["content"]] if message["content"] else []
        lines += [f"-> {call['name']}({call['arguments']})" for call in calls]
        blocks.append(f"[{message['role']}] " + "\n".join(lines))
    return "\n".join(blocks)
