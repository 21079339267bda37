"""Plays rows with the real package of one framework, against a given address; run by `benchmarks.gateways`.

    python gateway_peers.py FRAMEWORK BASE_URL ROWS

Prints one JSON object: the reward of each task, ``None`` where the framework holds none, and what it holds for a fault.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.request import Request, urlopen

Rows = list[dict[str, Any]]


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


async def art(base_url: str, rows: Rows) -> dict[str, Any]:
    """Groups of two; the turns that ART kept are counted."""
    import art as package

    from simia_gym.rl.recipes.art_rollout import rollout

    model = package.Model(
        name="m", project="simia", inference_api_key="k", inference_base_url=base_url, inference_model_name="m"
    )
    found: dict[str, Any] = {"rewards": {}, "turns": {}, "faults": {}}
    for row in rows:
        group = await package.trajectory_group((rollout(model, row) for _ in range(2)), return_exceptions=True)
        rewards = {one.reward for one in group.trajectories}
        found["rewards"][row["task"]] = rewards.pop() if len(rewards) == 1 else None
        found["turns"][row["task"]] = [len(one.exchanges.chat_completions) for one in group.trajectories]
        if group.exceptions:
            found["faults"][row["task"]] = [one.type for one in group.exceptions]
    return found


async def agent_lightning(base_url: str, rows: Rows) -> dict[str, Any]:
    """The real server, and its controller, which starts a process a rollout; read as its trainer reads."""
    import uvicorn
    from agentlightning.client import AgentLightningAsyncClient
    from agentlightning.controller.local_reconciler import LocalReconciler
    from agentlightning.server.app import create_app
    from omegaconf import OmegaConf

    proxy = {"model_name": "m", "include_log_probs": True, "include_routed_experts": False}
    app = create_app(
        {"key": "secret", "default_proxy": {**proxy, "train": {"temperature": 1}, "val": {"temperature": 1}}}
    )
    port = _free_port()
    server = uvicorn.Server(uvicorn.Config(app, port=port, log_level="error"))
    serving = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0.05)
    url = f"http://127.0.0.1:{port}"
    config = OmegaConf.create({
        "runner_type": "local", "agl_server": {"url": url, "agent_url": None, "key": "secret"},
        "local_runner": {"maximum_size": 2, "poll_interval": 0.5},
    })  # fmt: skip
    found: dict[str, Any] = {"rewards": {}, "turns": {}, "faults": {}}
    async with AgentLightningAsyncClient(base_url=url, key="secret", timeout=60) as client:
        await client.post("/api/models", json=[{"model": "m", "endpoint": base_url}])
        local = {
            "agent_class": "simia_gym.rl.recipes.agent_lightning_agent:SimiaAgent",
            "env_map": {"SIMIA_ROW": "input"},
        }
        asked = [{"input": row, "config": {"local": local}} for row in rows]
        made = (await client.post("/api/rollouts", json=asked)).json()
        controller = LocalReconciler(api=client, config=config)
        running = asyncio.create_task(controller.run())
        ended: list[Any] = []
        waiting = {one["rollout_id"] for one in made}
        while waiting:
            await asyncio.sleep(0.5)
            ended = (await client.get("/api/rollouts?state_in=succeeded&state_in=failed")).json()
            waiting -= {one["rollout_id"] for one in ended}
        controller.stop()
        await running
        states = {one["rollout_id"]: one["status"]["state"] for one in ended}
        for row, one in zip(rows, made, strict=True):
            path = f"/api/rollouts/{one['rollout_id']}/events?format=triplet"
            events = (await client.get(path)).json()
            rewards = [event["data"]["value"] for event in events if event["event_type"] == "reward"]
            turns = [event for event in events if event["event_type"] == "model_request"]
            turns = [event for event in turns if event["data"].get("response_token_ids")]
            found["rewards"][row["task"]] = rewards[-1] if rewards else None
            found["turns"][row["task"]] = [len(turns)]
            if states[one["rollout_id"]] == "failed":
                found["faults"][row["task"]] = ["failed"]
    server.should_exit = True
    await serving
    return found


async def rllm(base_url: str, rows: Rows) -> dict[str, Any]:
    """The real engine behind the real gateway, as ``rllm eval`` runs them."""
    from rllm.eval.runner import run_dataset
    from rllm.types import Task

    from simia_gym.rl.recipes.rllm_flow import simia_evaluator, simia_flow

    kept: dict[int, Any] = {}
    tasks = [Task(id=row["task"], instruction="", metadata=row) for row in rows]
    await run_dataset(
        tasks, simia_flow, base_url, "m", concurrency=4, evaluator=simia_evaluator, on_episode_complete=kept.__setitem__
    )
    found: dict[str, Any] = {"rewards": {}, "turns": {}, "faults": {}}
    for number, row in enumerate(rows):
        trajectories = kept[number].trajectories
        found["rewards"][row["task"]] = trajectories[0].reward if trajectories else None
        found["turns"][row["task"]] = [len(one.steps) for one in trajectories]
        if not trajectories:
            found["faults"][row["task"]] = [str(kept[number].termination_reason)]
    return found


async def uni_agent(base_url: str, rows: Rows) -> dict[str, Any]:
    """The runner of its framework, with a session whose address is the given one."""
    from uni_agent.gateway.session import SessionHandle

    from simia_gym.rl.recipes.uni_agent_task import run_task

    found: dict[str, Any] = {"rewards": {}, "faults": {}}
    for row in rows:
        session = SessionHandle(session_id=row["task"], base_url=base_url)
        task = {"name": "simia", "agent": {"name": "react"}, "metadata": row}
        try:
            result = await run_task(session=session, tools_kwargs={"task": task}, model_name="m")
            found["rewards"][row["task"]] = result.reward
        except Exception as error:
            found["rewards"][row["task"]] = None
            found["faults"][row["task"]] = [type(error).__name__]
    return found


class _Bytes:
    """A tokenizer of bytes, whose chat template is the JSON of the messages; 0 ends a turn."""

    eos_token_id = pad_token_id = 0

    def apply_chat_template(self, messages: Any, **given: Any) -> dict[str, list[int]]:
        return {"input_ids": list(json.dumps(messages).encode())}

    def encode(self, text: str, **given: Any) -> list[int]:
        return list(text.encode())

    def decode(self, ids: list[int], **given: Any) -> str:
        return bytes(one for one in ids if one).decode()


class _Engine:
    """Samples what the server behind the address says, with the format of calls in which the agent is shown them."""

    def __init__(self, base_url: str) -> None:
        self._url = f"{base_url}/chat/completions"

    async def agenerate(self, request: Any) -> Any:
        import aiohttp
        from areal.api.io_struct import ModelResponse

        messages = json.loads(bytes(request.input_ids))
        async with aiohttp.ClientSession() as client, client.post(self._url, json={"messages": messages}) as answer:
            answer.raise_for_status()
            message = (await answer.json())["choices"][0]["message"]
        said = message.get("content") or ""
        for call in message.get("tool_calls") or ():
            made = {"name": call["function"]["name"], "arguments": json.loads(call["function"]["arguments"])}
            said += f"<tool_call>\n{json.dumps(made)}\n</tool_call>"
        ids = [*said.encode(), 0]
        return ModelResponse(
            input_tokens=request.input_ids, output_tokens=ids, output_logprobs=[-1.0] * len(ids),
            output_versions=[0] * len(ids), stop_reason="stop", tokenizer=request.tokenizer,
        )  # fmt: skip


async def areal(base_url: str, rows: Rows) -> dict[str, Any]:
    """Its workflow and its proxy server, with an engine that asks the address."""
    import uvicorn
    from areal.experimental.openai.client import ArealOpenAI
    from areal.experimental.openai.proxy import proxy_rollout_server as proxy
    from areal.experimental.openai.proxy.workflow import OpenAIProxyWorkflow

    from simia_gym.rl.recipes.areal_agent import SimiaAgent

    proxy._openai_client, proxy._admin_api_key = ArealOpenAI(engine=_Engine(base_url), tokenizer=_Bytes()), "admin"
    port = _free_port()
    server = uvicorn.Server(uvicorn.Config(proxy.app, port=port, log_level="error"))
    serving = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0.05)
    address = f"http://127.0.0.1:{port}"
    workflow = OpenAIProxyWorkflow("inline", SimiaAgent(), proxy_addr=address, admin_api_key="admin")
    found: dict[str, Any] = {"rewards": {}, "turns": {}, "faults": {}}
    for row in rows:
        try:
            turns = await workflow.arun_episode(None, row)
            found["rewards"][row["task"]] = [*turns.values()][-1].reward
            found["turns"][row["task"]] = [len(turns)]
        except Exception as error:
            found["rewards"][row["task"]] = None
            found["faults"][row["task"]] = [type(error).__name__]
    server.should_exit = True
    await serving
    return found


@contextmanager
def _silent_address() -> Iterator[str]:
    """An address that takes requests and never answers."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        one.listen(64)
        yield f"http://127.0.0.1:{one.getsockname()[1]}/v1"


@contextmanager
def _ends_heard(row: Any) -> Iterator[list[str]]:
    """The tasks whose worlds are told that their episode is over."""
    from simia_gym.rl.recipes.gateways import suite_of

    world: Any = type(suite_of(row).domain.world)
    heard: list[str] = []
    real = world.end

    def end(self: Any, context: Any) -> Any:
        heard.append(context.task.id)
        return real(self, context)

    world.end = end
    yield heard
    world.end = real


def _by_settings(rows: Rows) -> list[Rows]:
    """The rows of each environment with the same settings."""
    found: dict[str, Rows] = {}
    for row in rows:
        found.setdefault(json.dumps([row["env"], row["settings"]]), []).append(row)
    return [*found.values()]


async def inspect_ai(base_url: str, rows: Rows) -> dict[str, Any]:
    """Its evaluation of the task, all samples of a world at the same time; the first is played again."""
    import math
    import tempfile

    from inspect_ai import eval_async, task_with
    from inspect_ai.model import get_model

    from simia_gym.rl.recipes.inspect_task import simia

    found: dict[str, Any] = {"rewards": {}, "ends": {}, "turns": {}, "faults": {}}
    again: list[bool] = []
    with tempfile.TemporaryDirectory() as folder:

        async def samples(given: Rows, address: str, **more: Any) -> list[Any]:
            made = simia(given[0]["env"], seed=given[0]["seed"], **given[0]["settings"])
            model = get_model("openai-api/simia/m", base_url=address, api_key="k", memoize=False)
            wanted = [row["task"] for row in given]
            logs = await eval_async(task_with(made, **more), model, sample_id=wanted, log_dir=folder)
            assert logs[0].status == "success", logs[0].error
            return list(logs[0].samples or ())

        for given in _by_settings(rows):
            for one in await samples(given, base_url):
                task, score = str(one.id), (one.scores or {}).get("simia_verdict")
                found["rewards"][task] = None if score is None or math.isnan(score.as_float()) else score.as_float()
                found["turns"][task] = [sum(event.event == "model" for event in one.events)]
                if score is not None:
                    found["ends"][task] = [score.metadata["ended"], score.metadata["state"]]
                if one.error is not None:
                    found["faults"][task] = [one.error.message.partition("(")[0].strip()]
            if given[0]["task"] not in found["ends"]:
                continue
            (one,) = await samples(given[:1], base_url)
            score = one.scores["simia_verdict"]
            again.append(found["ends"][one.id] == [score.metadata["ended"], score.metadata["state"]])
        with _silent_address() as silent, _ends_heard(rows[0]) as heard:
            (one,) = await samples(rows[:1], silent, time_limit=3)
            found["freed"] = heard == [rows[0]["task"]] and math.isnan(one.scores["simia_verdict"].as_float())
    return found | {"again": all(again)}


async def verifiers(base_url: str, rows: Rows) -> dict[str, Any]:
    """Its environment, with the taskset, the harness and the interception that an evaluation has; all tasks at once."""
    import tempfile
    from pathlib import Path

    from verifiers.v1.clients import ModelContext
    from verifiers.v1.configs.client import EvalClientConfig
    from verifiers.v1.utils.loaders import load_environment, resolve_env_config

    os.environ["SIMIA_KEY"] = "k"
    found: dict[str, Any] = {"rewards": {}, "ends": {}, "turns": {}, "faults": {}}
    again: list[bool] = []

    async def traces(given: Rows, address: str, **agent: Any) -> list[Any]:
        row = given[0]
        config = {"id": "simia_taskset", "env": row["env"], "seed": row["seed"], **_split(row["settings"])}
        env = load_environment(resolve_env_config({"taskset": config, "agent": agent}))
        context = ModelContext(model="m", client=EvalClientConfig(base_url=address, api_key_var="SIMIA_KEY"))
        wanted = [f"{row['task']}/{row['seed']}" for row in given]
        tasks = {task.data.id: task for task in env.taskset.include(ids=wanted)}
        async with env.serving():
            episodes = await asyncio.gather(*(env.run_episode(tasks[name], context) for name in wanted))
        return [episode.traces[0] for episode in episodes]

    with tempfile.TemporaryDirectory() as folder:
        names = "SimiaEnv, SimiaHarness, SimiaTaskset"
        text = f"from simia_gym.rl.recipes.verifiers_taskset import {names}\n__all__ = {names.split(', ')}\n"
        Path(folder, "simia_taskset.py").write_text(text)
        sys.path.insert(0, folder)
        for given in _by_settings(rows):
            for row, trace in zip(given, await traces(given, base_url), strict=True):
                task, reward = row["task"], trace.rewards.get("simia")
                found["rewards"][task] = None if reward is None else reward.score
                found["turns"][task] = [trace.num_turns]
                if reward is not None:
                    found["ends"][task] = [trace.info["simia"]["ended"], trace.info["simia"]["state"]]
                if not trace.ok:
                    found["faults"][task] = [error.type for error in trace.errors]
            if given[0]["task"] not in found["ends"]:
                continue
            (trace,) = await traces(given[:1], base_url)
            again.append(found["ends"][given[0]["task"]] == [trace.info["simia"][key] for key in ("ended", "state")])
        with _silent_address() as silent, _ends_heard(rows[0]) as heard:
            (trace,) = await traces(rows[:1], silent, timeout={"rollout": 3})
            found["freed"] = heard == [rows[0]["task"]] and trace.rewards.get("simia") is None
    return found | {"again": all(again)}


def _split(settings: dict[str, Any]) -> dict[str, Any]:
    return {"split": settings["split"], "settings": {key: value for key, value in settings.items() if key != "split"}}


async def skyrl_gym(base_url: str, rows: Rows) -> dict[str, Any]:
    """Its registry and its environments, one thread an episode as in its generator; all tasks of a world at once."""
    import skyrl_gym as package

    import simia_gym.rl.recipes.skyrl_env  # noqa: F401  # registers the environment
    from simia_gym.actions.calls import read_action
    from simia_gym.rl.recipes.gateways import suite_of

    found: dict[str, Any] = {"rewards": {}, "ends": {}, "turns": {}, "faults": {}}

    def play(row: Any) -> tuple[Any, ...]:
        env = package.make("simia", extras={"simia": json.dumps(row), "max_turns": 999})
        messages, _ = env.init([])
        total, end = 0.0, dict[str, Any]()
        while not end:
            asked = Request(f"{base_url}/chat/completions", json.dumps({"messages": messages}).encode())
            with urlopen(asked) as answer:
                said = json.load(answer)["choices"][0]["message"]
            action = read_action(suite_of(row).domain.grammar, said)[0]
            step = env.step(action)
            messages = [*messages, {"role": "assistant", "content": action}, *step["observations"]]
            total, end = total + step["reward"], step["metadata"] if step["done"] else {}
        env.close()
        return total, end["ended"], end["state"], env.turns

    tried = [asyncio.to_thread(play, row) for row in rows]
    for row, one in zip(rows, await asyncio.gather(*tried, return_exceptions=True), strict=True):
        if isinstance(one, BaseException):
            found["rewards"][row["task"]], found["faults"][row["task"]] = None, [type(one).__name__]
            continue
        found["rewards"][row["task"]], *end, found["turns"][row["task"]] = one
        found["ends"][row["task"]] = end
    firsts = [given[0] for given in _by_settings(rows) if given[0]["task"] in found["ends"]]
    found["again"] = all([*found["ends"][row["task"]]] == [*play(row)[1:3]] for row in firsts)
    with _ends_heard(rows[0]) as heard:
        env = package.make("simia", extras={"simia": json.dumps(rows[0])})
        env.init([])
        env.close()
        found["freed"] = heard == [rows[0]["task"]]
    return found


if __name__ == "__main__":
    name, address, given = sys.argv[1:]
    os.environ.setdefault("WANDB_MODE", "offline")
    os.environ.setdefault("INSPECT_DISPLAY", "none")
    print(json.dumps(asyncio.run(globals()[name](address, json.loads(given)))))
