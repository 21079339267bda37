"""inspect_ai: the task ``simia``, for ``inspect eval simia_gym/simia -T env=simia/retail-v0 --model MODEL``.

A sample is a task of the environment, an epoch plays it with the next seed. The model of the evaluation plays; the
score is the reward of the verdict. A fault is raised: it is an error of the sample, which has no score.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from inspect_ai import Task, task
from inspect_ai.dataset import Sample
from inspect_ai.model import (
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageTool,
    ChatMessageUser,
    get_model,
)
from inspect_ai.scorer import Score, mean, scorer, stderr
from inspect_ai.solver import solver
from inspect_ai.tool import ToolCall, ToolInfo, ToolParams
from inspect_ai.util import LimitExceededError

from simia_gym import Cut, Fault, play_episode
from simia_gym.actions.signatures import self_contained
from simia_gym.policies.openai_messages import openai_messages
from simia_gym.record.finished_episode import CONTEXT_LIMIT, TOKEN_LIMIT, TURN_LIMIT
from simia_gym.rl.recipes.gateways import gateway_rows, outcome, suite_of
from simia_gym.types import JsonObject

FOUND = "simia"
"""The key of the store under which the episode's end stands."""


@task
def simia(env: str = "simia/retail-v0", split: str = "test", seed: int = 0, **settings: Any) -> Any:
    """Every task of a split.

    Args:
        env: The environment's id.
        split: Split of the tasks.
        seed: Seed of the first epoch's episodes.
        **settings: Further settings, as for `gymnasium.make`.
    """
    rows = [{**row, "seed": seed} for row in gateway_rows(env, split=split, **settings)]
    samples = [Sample(input=f"{env}: {row['task']}", id=row["task"], metadata={"row": row}) for row in rows]
    version = suite_of(rows[0]).domain.config.version
    return Task(samples, solver=simia_episode(), scorer=simia_verdict(), fail_on_error=False, version=version)


@solver
def simia_episode() -> Any:
    """Plays the sample's episode with the model of the evaluation."""

    async def solve(state: Any, generate: Any) -> Any:
        row, talk = state.metadata["row"], _Conversation(state)
        try:
            played = await play_episode(suite_of(row), row["task"], talk.ask, seed=row["seed"] + state.epoch - 1)
        except Fault as fault:
            raise talk.failure or fault from None  # of the model what inspect itself raised
        state.store.set(FOUND, outcome(played))
        if talk.limit is not None:
            raise talk.limit  # the sample says which limit it was, and is scored
        state.messages = talk.show(openai_messages(played.messages))
        return state

    return solve


@scorer(metrics=[mean(), stderr()])
def simia_verdict() -> Any:
    """The reward of the verdict; an episode that was broken off has none."""

    async def score(state: Any, target: Any) -> Any:
        found = state.store.get(FOUND)
        if found is None:
            return Score.unscored(reason="scoring_failed", explanation="The episode was broken off: it has no verdict.")
        facts = {name: value for name, value in found.items() if name != "reward"}
        missed = [f"{each['id']}: {each['reason']}" for each in found["verdict"]["criteria"] if each["passed"] is False]
        return Score(value=found["reward"], answer=found["ended"], explanation="\n".join(missed), metadata=facts)

    return score


class _Conversation:
    """One episode's agent: asks the model, and keeps its messages as it wrote them, thoughts included.

    Attributes:
        limit: The limit of inspect that cut the episode off.
        failure: What the model failed with.
    """

    def __init__(self, state: Any) -> None:
        self.limit: LimitExceededError | None = None
        self.failure: Exception | None = None
        self._state = state
        self._given: list[JsonObject] = []
        self._shown: list[Any] = []
        self._said: list[Any] = []
        self._acted = False

    async def ask(self, messages: list[JsonObject], tools: list[JsonObject]) -> JsonObject:
        """The model's next message."""
        functions = [tool["function"] for tool in tools]
        try:
            self._state.messages = self.show(messages)
            output = await get_model().generate(self._state.messages, [_tool(function) for function in functions])
        except LimitExceededError as limit:
            self.limit = limit
            raise Cut(TURN_LIMIT if limit.type in ("message", "turn") else TOKEN_LIMIT) from limit
        except Exception as failure:
            self.failure = failure
            raise
        self._state.output = output
        if output.stop_reason == "model_length":
            if self._acted:
                raise Cut(CONTEXT_LIMIT)
            raise Fault("context_length", "the first prompt does not fit into the model's context", role="policy")
        self._acted = True
        self._said.append(output.message)
        calls = [_call(call) for call in output.message.tool_calls or ()]
        message = {"role": "assistant", "content": output.message.text, **({"tool_calls": calls} if calls else {})}
        return {"message": message, "finish_reason": output.stop_reason, "error": output.error}

    def show(self, messages: list[JsonObject]) -> list[Any]:
        """The messages as inspect's. A transcript grows; with the setting ``history`` each prompt is another one."""
        done = len(self._given)
        if messages[:done] != self._given:
            self._shown, self._said, done = [], [], 0
        self._given = messages
        self._shown += self._written(messages[done:])
        return [*self._shown]

    def _written(self, messages: Sequence[JsonObject]) -> Iterator[Any]:
        said = iter(self._said[sum(message.role == "assistant" for message in self._shown) :])
        names: dict[str, str] = {}
        for message in messages:
            content = message["content"]
            if message["role"] == "assistant":
                made = [(each["id"], each["function"]) for each in message.get("tool_calls", ())]
                names |= {key: function["name"] for key, function in made}
                calls = [ToolCall(key, function["name"], json.loads(function["arguments"])) for key, function in made]
                own = next(said, None) or ChatMessageAssistant(content=content or "")
                yield own.model_copy(update={"tool_calls": calls or None})
            elif message["role"] == "tool":
                key = message["tool_call_id"]
                yield ChatMessageTool(content=content, tool_call_id=key, function=names.get(key))
            else:
                yield (ChatMessageSystem if message["role"] == "system" else ChatMessageUser)(content=content)


def _tool(function: JsonObject) -> ToolInfo:
    parameters = ToolParams.model_validate(self_contained(function["parameters"]))  # it drops references unsaid
    return ToolInfo(name=function["name"], description=function.get("description", ""), parameters=parameters)


def _call(call: ToolCall) -> JsonObject:
    """A call in OpenAI's layout; arguments that inspect could not read are no JSON here either."""
    arguments = json.dumps(call.arguments) if call.parse_error is None else call.parse_error
    return {"id": call.id, "type": "function", "function": {"name": call.function, "arguments": arguments}}
