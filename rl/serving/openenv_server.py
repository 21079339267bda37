"""Episodes as an OpenEnv server: one session over a WebSocket plays one episode after the other.

Written for `openenv` 0.10. Actions and observations are those of OpenEnv's tool clients, so that these and its bridges
play as they are. ``reset`` begins the conversation. A fault is raised and reaches the client as an error, because
bridges count a missing reward as 0; the whole reward comes with the end, because they add rewards up.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import Any, cast
from uuid import uuid4

from openenv.core.env_server import (
    Action,
    CallToolAction,
    CallToolObservation,
    ConcurrencyConfig,
    Environment,
    ListToolsAction,
    ListToolsObservation,
    Observation,
    State,
    Tool,
    create_app,
)
from openenv.core.env_server.types import EnvironmentMetadata
from pydantic import Field
from starlette.types import ASGIApp

from simia_gym.actions.signatures import without_keywords
from simia_gym.errors import Fault, InputError, Role
from simia_gym.rl.serving.hosted import HostedEpisodes, result
from simia_gym.rl.serving.tool_episode import Said, ToolEpisode
from simia_gym.rl.serving.web import guarded
from simia_gym.types import JsonObject, Task
from simia_gym.version import __version__

END = "end_episode"
"""A tool that is not listed: with it a trainer has an episode judged as it stands, when its agent stops early."""


class ToolObservation(CallToolObservation, ListToolsObservation):
    """What a reset or a step answers, in one class because the published schema has one for all.

    Metadata is not used: not every client is given it. OpenEnv's tool client takes what has ``tools`` for a list.
    """

    tools: list[Tool] | None = Field(None, exclude_if=lambda tools: tools is None, description="The tools, if listed.")
    tool_name: str = Field("", description="The tool that was called; empty after a reset.")
    result: str = Field("", description="What the environment says.")
    failed: bool = Field(False, description="Whether the call was refused or failed.")
    ended: str | None = Field(None, description="Why the episode ended.")
    success: bool | None = Field(None, description="Whether the task is done, at the end.")
    final_state: str | None = Field(None, description="The hash of the state at the end.")
    verdict: dict[str, Any] | None = Field(None, description="Reward, criteria and evidence, at the end.")


class EpisodeState(State):
    """Which episode it is."""

    task: str | None = Field(None, description="Id of the task.")
    task_seed: int | None = Field(None, description="The episode's seed.")


class ServedEnvironment(Environment[Action, Observation, EpisodeState]):
    """One session, as OpenEnv's server wants it. All of it but `close` runs on the server's event loop.

    Args:
        episodes: The episodes of the server, of which this session has one at a time.
        tools: The tools of every episode.
    """

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self, episodes: HostedEpisodes, tools: list[Tool]) -> None:
        super().__init__()
        self._episodes, self._tools, self._name = episodes, tools, uuid4().hex
        self._state = EpisodeState()
        self._loop: asyncio.AbstractEventLoop | None = None

    async def reset_async(
        self,
        seed: int | None = None,
        episode_id: str | None = None,
        *,
        task: str | None = None,
        index: int | None = None,
        split: str | None = None,
        group: str | None = None,
        **unknown: Any,
    ) -> ToolObservation:
        """Begin an episode: of a task, or of the one at a place of the split, or of the next one."""
        if unknown:
            known = "Give seed, episode_id, task, index, split, group."
            raise InputError(f"no argument {', '.join(map(repr, sorted(unknown)))}", where="reset", fix=known)
        self._loop = asyncio.get_running_loop()
        await self._episodes.remove(self._name, Fault("abandoned", "the client began another episode", role="policy"))
        if index is not None:
            task = self.get_task(split or self.list_splits()[0], index)["id"]
        wanted = {"task": task, "seed": seed, "group": group}
        episode = self._episodes.get(
            self._name, {name: str(value) for name, value in wanted.items() if value is not None}
        )
        self._state = EpisodeState(episode_id=episode_id or uuid4().hex, task=episode.task.id, task_seed=episode.seed)
        return _seen(episode, "", await episode.call(episode.start_name, {}))

    async def step_async(self, action: Action, timeout_s: float | None = None, **kwargs: Any) -> Observation:
        """Call a tool, or list the tools.

        Raises:
            Fault: The environment failed, now or before; the episode has no reward.
            InputError: There is no episode.
        """
        self._state.step_count += 1
        if isinstance(action, ListToolsAction):
            return ToolObservation(tools=self._tools, reward=0.0)
        assert isinstance(action, CallToolAction)
        if self._episodes.find(self._name) is None:
            raise InputError("there is no episode: none was begun, or nobody played it", where="step", fix="Reset.")
        episode = self._episodes.get(self._name)
        over = episode.verdict is not None
        if action.tool_name == END and END not in (tool.name for tool in self._tools):
            await episode.close()
            said = Said(("The episode is over.",), over=True)
        else:
            said = await episode.call(action.tool_name, action.arguments)
        verdict = episode.verdict
        if verdict is not None and not verdict.valid:
            fault = verdict.fault
            raise (
                Fault("invalid", verdict.reason)
                if fault is None
                else Fault(fault.kind, fault.message, role=cast(Role, fault.role))
            )
        return _seen(episode, action.tool_name, said, paid=over)

    def reset(self, seed: int | None = None, episode_id: str | None = None, **kwargs: Any) -> Observation:
        """Refuse: the base class demands the method, and its server calls `reset_async`."""
        raise InputError("episodes are asynchronous", where="reset", fix="Call reset_async.")

    def step(self, action: Action, timeout_s: float | None = None, **kwargs: Any) -> Observation:
        """Refuse, as `reset` does."""
        raise InputError("episodes are asynchronous", where="step", fix="Call step_async.")

    @property
    def state(self) -> EpisodeState:
        """Which episode it is, and the number of steps."""
        return self._state

    def close(self) -> None:
        """Give up an episode that goes on. The server calls this in any of its threads."""
        if self._loop is not None:
            fault = Fault("abandoned", "the client left", role="policy")
            asyncio.run_coroutine_threadsafe(self._episodes.remove(self._name, fault), self._loop)

    def get_metadata(self) -> EnvironmentMetadata:
        """Name and version."""
        name = self._episodes.suite.config.env
        about = (
            f"{name} of simia_gym: a tool-using agent, a world that answers, a reward that can be traced to evidence."
        )
        return EnvironmentMetadata(name=name, description=about, version=__version__)

    def list_splits(self) -> list[str]:
        """The one split that is served."""
        return [self._episodes.suite.config.split]

    def num_tasks(self, split: str) -> int:
        """How many tasks a split has."""
        return len(self._tasks(split))

    def get_task(self, split: str, index: int) -> JsonObject:
        """The id of one task, and its place."""
        tasks = self._tasks(split)
        if not 0 <= index < len(tasks):
            raise IndexError(f"there are {len(tasks)} tasks")
        return {"id": tasks[index].id, "index": index}

    def get_task_range(self, split: str, start: int | None = None, stop: int | None = None) -> list[JsonObject]:
        """The ids of tasks from one place to another."""
        return [self.get_task(split, place) for place in range(*slice(start, stop).indices(self.num_tasks(split)))]

    def list_tasks(self, split: str) -> list[JsonObject]:
        """The ids of the first thousand tasks."""
        return self.get_task_range(split, 0, 1000)

    def _tasks(self, split: str) -> Sequence[Task]:
        if split not in self.list_splits():
            raise IndexError(f"the split {split!r} is not served")
        return self._episodes.suite.tasks


def make_app(episodes: HostedEpisodes, token: str | None = None) -> ASGIApp:
    """The web application, as OpenEnv's clients want it; the token is asked for everywhere but at ``/health``."""
    suite = episodes.suite
    example = ToolEpisode(suite, suite.tasks[0])
    functions = [without_keywords(tool, "x-")["function"] for tool in example.tools]
    tools = [
        Tool(name=f["name"], description=f.get("description") or "", input_schema=f["parameters"])
        for f in functions
        if f["name"] != example.start_name
    ]
    app = create_app(
        partial(ServedEnvironment, episodes, tools),
        CallToolAction,
        ToolObservation,
        env_name=suite.domain.name,
        concurrency_config=ConcurrencyConfig(max_concurrent_envs=episodes.most, session_timeout=episodes.idle),
        state_cls=EpisodeState,
    )
    return guarded(app, token)


def _seen(episode: ToolEpisode, name: str, said: Said, *, paid: bool = False) -> ToolObservation:
    text, verdict = "\n\n".join(said.texts), episode.verdict
    if verdict is None:
        return ToolObservation(tool_name=name, result=text, failed=said.error, reward=0.0)
    found = result(episode)
    return ToolObservation(
        tool_name=name,
        result=text,
        failed=said.error,
        done=True,
        reward=0.0 if paid else verdict.reward,
        ended=episode.ended,
        success=verdict.success,
        final_state=episode.state,
        verdict=found["verdict"],
    )
