"""`SimiaEnv`, the Gymnasium environment, and a wrapper that changes its observation."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from typing import Any, Literal, get_args

import gymnasium
from gymnasium.envs.registration import EnvSpec

from simia_gym.actions.calls import MAX_CHARACTERS
from simia_gym.assembly.resources import RESOURCE_NAMES, Resources
from simia_gym.assembly.settings import EnvConfig
from simia_gym.assembly.suite import Suite, load_suite
from simia_gym.assembly.task_order import Order, TaskOrder
from simia_gym.common.event_loop import run_sync
from simia_gym.common.secrets import shown_value
from simia_gym.domain.registration import without_keys
from simia_gym.domain.tasks import task_from_json
from simia_gym.domain.world import WorldSimulator
from simia_gym.episode import Episode
from simia_gym.errors import Fault, InputError, StorageError
from simia_gym.record.transcript import transcript_text
from simia_gym.spaces import TextSpace
from simia_gym.state import thaw
from simia_gym.types import Message, PolicyAction, Step, Task

logger = logging.getLogger("simia_gym")
OnFault = Literal["truncate", "raise", "mark"]
_logged: set[tuple[str, str]] = set()
_SETTINGS = tuple(item.name for item in dataclasses.fields(EnvConfig) if item.name not in ("env", "options"))

_BOTH: Mapping[str, Callable[[Any], bool]] = {
    "simulator": lambda value: not isinstance(value, str),
    "pins": lambda value: hasattr(value, "answer"),
}
"""Names that are both settings and live resources, with a test for whether a value is the live resource."""


class Extras(Mapping[str, Any]):
    """A domain's public extras in an info: a read-only mapping, equal to the dictionary that it holds.

    It is no dictionary, because Gymnasium's vectors take dictionaries apart: they would put the numbers of all lanes
    into one array of the first lane's type.
    """

    __slots__ = ("_values",)

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = dict(values)

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return repr(self._values)


def make_suite(env_id: str, kwargs: Mapping[str, Any]) -> Suite:
    """Load the environment that the keyword arguments of `gymnasium.make` describe, and log its warnings.

    Raises:
        InputError: A setting has an impossible value.
    """
    settings: dict[str, Any] = {}
    live: dict[str, Any] = {}
    options: dict[str, Any] = {}
    for name, value in kwargs.items():
        if name == "options":
            if not isinstance(value, Mapping):
                raise InputError(f"options is {shown_value(value)}", where="options", fix="Give a dictionary.")
            options = {**value, **options}
        elif name in RESOURCE_NAMES and (name not in _BOTH or _BOTH[name](value)):
            live[name] = value
        else:
            (settings if name in _SETTINGS else options)[name] = value
    suite = load_suite(EnvConfig(env=env_id, options=options, **settings), Resources(**live))
    for warning in suite.warnings:
        logger.warning("%s: %s", env_id, warning)
    return suite


def keyless(spec: EnvSpec | None) -> EnvSpec | None:
    """A specification without API keys: people print it, and write it to files."""
    if spec is None:
        return None
    kept = copy(spec)
    kept.kwargs = without_keys(spec.kwargs)
    return kept


class SimiaEnv(gymnasium.Env[str, str]):
    """A Gymnasium environment whose observations and actions are texts; the reward comes at the last step.

    The first observation is the environment's first message. ``info["messages"]`` holds the environment's new chat
    messages (at reset: the system message and the first message), and at reset ``info["tools"]`` holds the tool
    schemas. The last step's info has ``verdict`` (a `Verdict`), ``reward_valid``, ``success`` and ``ended``. If the
    infrastructure failed, it also has ``fault``: then ``truncated`` is true, and the reward of 0.0 is invalid.

    Args:
        env_id: The registered id.
        render_mode: ``ansi`` for the transcript as text; ``human`` opens the page of each episode in a browser when it
            ends, as `simia view` writes it, or says where the page lies (extra ``view``).
        on_fault: ``truncate`` ends the episode with an invalid verdict, ``raise`` raises the `Fault`. A fault at reset
            is raised by both. ``mark`` is ``truncate``, but a fault at reset gives an empty observation with
            ``info["fault"]``, and the next step truncates, so that a vector of environments goes on.
        task_order: ``random`` draws each task from all tasks; ``shuffled`` and ``listed`` play every task once before
            any task is repeated, and ``info["epoch"]`` at reset is the number of completed passes.
        **kwargs: Settings of `EnvConfig` and fields of `Resources`; any other name is an option of the domain's world.
    """

    metadata: dict[str, Any] = {"render_modes": ["ansi", "human"], "render_fps": 1}  # noqa: RUF012 - Gymnasium's own layout

    def __init__(
        self,
        env_id: str,
        *,
        render_mode: str | None = None,
        on_fault: OnFault = "truncate",
        task_order: Order = "random",
        **kwargs: Any,
    ) -> None:
        if on_fault not in get_args(OnFault):
            raise InputError(
                f"on_fault is {shown_value(on_fault)}", where="on_fault", fix="Use truncate, raise or mark."
            )
        if render_mode == "human":
            from simia_gym.viewer.pages import require_view

            require_view("render_mode='human'")
        self.render_mode, self.on_fault = render_mode, on_fault
        self.suite = make_suite(env_id, kwargs)
        self.task_order = TaskOrder(task_order, len(self.suite.tasks))
        self.episode = self.suite.episode()
        self.broken: Fault | None = None
        self.observation_space = TextSpace()
        self.action_space = TextSpace(max_length=MAX_CHARACTERS, samples=self.suite.domain.samples)
        self._spec: EnvSpec | None = None  # last, so that pickling names what of the suite cannot travel

    @property
    def spec(self) -> EnvSpec | None:
        """How it was made, as Gymnasium says it from outside, without API keys."""
        return self._spec

    @spec.setter
    def spec(self, spec: EnvSpec | None) -> None:
        self._spec = keyless(spec)

    @property
    def tasks(self) -> Sequence[Task]:
        """The tasks that resets draw from: the fixed ones of the split, then the generated ones."""
        return self.suite.tasks

    def __getstate__(self) -> dict[str, Any]:
        """Pickle the settings, and the running episode if no model takes part; otherwise the copy needs a reset."""
        episode = self.episode
        progress = {"max_turns": episode.max_turns}
        if not self.suite.model_names and isinstance(episode.simulator, WorldSimulator):
            shared = ("domain", "simulator", "user", "reward", "_in_use")
            progress = {name: value for name, value in vars(episode).items() if name not in shared}
        return {**vars(self), "episode": progress}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Load the environment again from its settings."""
        vars(self).update(state)
        self.episode = self.suite.episode()
        vars(self.episode).update(state["episode"])

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
        begin = self.begin_or_mark if self.on_fault == "mark" else self.begin
        return run_sync(begin(*self.choose(options)), inline=self.episode.inline)

    def choose(self, options: Mapping[str, Any] | None) -> tuple[Task, int, str]:
        """Choose the next task, and the seed and group of its episode; only the environment's generator is random.

        Raises:
            InputError: There is no such task, or no such option.
        """
        if not isinstance(options or {}, Mapping):
            raise InputError(f"options is {options!r}", where="options", fix="Give a dictionary.")
        given = dict(options or {})
        chosen, group = given.pop("task", None), str(given.pop("group", ""))
        if given:
            raise InputError(f"reset has no option {min(given)!r}", where="options", fix="Options: task, group.")
        drawn, seed = int(self.np_random.integers(len(self.tasks))), int(self.np_random.integers(2**31))
        if chosen is None:
            task = self.tasks[self.task_order.next(drawn)]
        elif isinstance(chosen, dict):
            task = task_from_json(chosen, "options['task']")
        else:
            task = chosen if isinstance(chosen, Task) else self.suite.task(str(chosen))
        return task, seed, group

    async def begin(self, task: Task, seed: int, group: str) -> tuple[str, dict[str, Any]]:
        """Begin the episode of the chosen task; return what `reset` does."""
        epoch = self.task_order.epoch
        start = await self.episode.reset(task, seed=seed, group=group)
        info = {**start.info, "messages": list(start.messages), "tools": thaw(self.suite.domain.tools)}
        if "world" in info:
            info["world"] = Extras(info["world"])
        if self.episode.history is not None:
            info["shown"] = self.episode.shown
        return start.observation, info if epoch is None else {**info, "epoch": epoch}

    async def begin_or_mark(self, task: Task, seed: int, group: str) -> tuple[str, dict[str, Any]]:
        """Like `begin`, but a fault is kept in ``broken`` for the next step, and stands in the info."""
        self.broken = None
        try:
            return await self.begin(task, seed, group)
        except StorageError:
            raise
        except Fault as fault:
            self.broken = fault
        except InputError as error:
            self.broken = Fault("bad_task", str(error), role="episode")
        return "", {"fault": str(self.broken)}

    async def advance(self, action: PolicyAction) -> Step:
        """Take an action; after a fault at reset, truncate."""
        broken, self.broken = self.broken, None
        return await self.episode.step(action) if broken is None else self.episode.fail(broken)

    def step(self, action: PolicyAction) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Take one action.

        Args:
            action: The policy's text, or an assistant message in OpenAI's layout (the action space holds texts only).

        Returns:
            Observation, reward, terminated, truncated, info.
        """
        step = run_sync(self.advance(action), inline=self.episode.inline)
        if self.render_mode == "human" and step.verdict is not None:
            from simia_gym.rollout.look import look_at

            look_at(self.suite, self.episode)
        if self.episode.fault is not None:
            if self.on_fault == "raise":
                raise self.episode.fault
            log_once(self.episode.fault)
        return step_values(self.episode, step)

    def close(self) -> None:
        """Give up an episode that has not ended, so that the world frees what it holds for it."""
        run_sync(self.episode.close(), inline=self.episode.inline)

    def _repr_html_(self) -> str:
        """The episode in a notebook; wrappers hide it, so that it is shown by ``env.unwrapped``."""
        from simia_gym.rollout.look import html_of_episode

        return html_of_episode(self.suite, self.episode)

    def render(self) -> str | None:
        """The transcript so far as text, in mode ``ansi``."""
        return transcript_text(self.episode.messages) if self.render_mode == "ansi" else None


def log_once(fault: Fault) -> None:
    """Log the first fault of each role and kind, so that an endpoint that is down does not look like a bad policy."""
    if (fault.role, fault.kind) not in _logged:
        _logged.add((fault.role, fault.kind))
        text = "%s; the episode is truncated and its reward means nothing (info['reward_valid']). Logged once a kind."
        logger.warning(text, fault)


def step_values(episode: Episode, step: Step) -> tuple[str, float, bool, bool, dict[str, Any]]:
    """Gymnasium's five values of a step; the caller may change the info."""
    info = {**step.info, "messages": list(map(_plain, step.messages))}
    if "world" in info:
        info["world"] = Extras(info["world"])
    if episode.history is not None and episode.ended is None:
        info["shown"] = episode.shown
    return step.observation, step.reward, step.terminated, step.truncated, info


def _plain(message: Message) -> Message:
    """A copy of an environment's message in OpenAI's layout."""
    return {name: value for name, value in message.items() if name in ("role", "content", "tool_call_id")}


class TranscriptObservation(gymnasium.ObservationWrapper[str, str, str]):
    """Makes the whole transcript so far the observation, instead of only the newest messages.

    Args:
        env: A simia environment, wrapped or not.
        system: Whether the transcript begins with the system message (policy text and tools).
    """

    def __init__(self, env: gymnasium.Env[str, str], *, system: bool = True) -> None:
        super().__init__(env)
        self.system = system

    def observation(self, observation: str) -> str:
        """Replace the newest messages by the whole transcript.

        Raises:
            TypeError: The wrapped environment is not a `SimiaEnv`.
        """
        inner = self.env.unwrapped
        if not isinstance(inner, SimiaEnv):
            raise TypeError(f"TranscriptObservation needs a simia environment, got {type(inner).__name__}")
        messages = inner.episode.shown
        head = f"[system] {messages[0]['content']}\n" if self.system else ""
        return head + transcript_text(messages)
