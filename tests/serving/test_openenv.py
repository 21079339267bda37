"""What only OpenEnv has: its validator, arguments of a reset, lists of tasks, and agents that stop early."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import aiohttp
import pytest

from ..docs_pages import CHECKOUT, blocks, write_into
from .native import made
from .services import served, service_named

over_openenv = service_named("openenv")

from openenv.cli._validation import validate_running_environment  # noqa: E402 - once it is known to be there
from openenv.core.mcp_client import MCPToolClient  # noqa: E402
from openenv.validation import run_validation  # noqa: E402
from openenv.validation.graders.runtime import (  # noqa: E402
    ObservationSchemaGrader,
    RewardWellFormedGrader,
    StateContractGrader,
)
from openenv.validation.manifest import ExecutionDeclaration  # noqa: E402
from openenv.validation.runtime.collector import collect_runtime_evidence  # noqa: E402
from openenv.validation.runtime.contracts import load_runtime_plan  # noqa: E402
from openenv.validation.types import CheckStatus, Level  # noqa: E402

RETAIL = "simia/retail-v0"


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package of the documentation."""
    folder = tmp_path_factory.mktemp("package")
    for block in blocks(CHECKOUT / "docs" / "other-trainers.md"):
        if block.title in ("openenv.yaml", "Dockerfile", "runtime.json"):
            write_into(folder, block)
    return folder


async def test_its_validator_finds_nothing(package: Path) -> None:
    report = run_validation(package, max_level=Level.STATIC, skip_build=True)
    assert {result.check_id: result.status for result in report.results}["static.manifest"] is CheckStatus.PASS
    plan = load_runtime_plan(package, ExecutionDeclaration(probe_path="runtime.json"))
    async with served(over_openenv, made(RETAIL).suite) as server:
        running = await asyncio.to_thread(validate_running_environment, server.base)
        assert running["passed"], running
        evidence = await asyncio.to_thread(collect_runtime_evidence, server.base, plan, episode_timeout_s=60)
    assert evidence.failure_reason is None
    assert sum(row.operation == "step" for row in evidence.exchanges) == len(plan.actions)
    assert json.loads(evidence.exchanges[-2].response_json)["data"]["done"]
    subject: Any = SimpleNamespace(
        runtime_evidence=evidence, manifest=SimpleNamespace(reward=SimpleNamespace(range=(0.0, 1.0)))
    )
    for grader in (RewardWellFormedGrader(), ObservationSchemaGrader(), StateContractGrader()):
        result = grader.run(subject)
        assert result.status is CheckStatus.PASS, result


@asynccontextmanager
async def client() -> AsyncIterator[Any]:
    async with served(over_openenv, made(RETAIL).suite) as server, server.session() as player:
        yield player.client


async def test_an_agent_that_stops_is_judged_as_it_stands() -> None:
    async with client() as player:
        await player.reset(seed=1)
        end = {"tool_name": "end_episode"}
        found = await player.step(end)
        assert (found.done, found.reward) == (True, 0.0)
        assert (found.observation["ended"], found.observation["success"]) == ("turn_limit", False)
        assert found.observation["verdict"]["valid"]
        assert (await player.step(end)).reward == 0.0
        await player.reset(seed=1)
        assert not (await player.step({"tool_name": "list_all_product_types"})).done


async def test_a_reset_names_a_task_in_each_way() -> None:
    tasks = made(RETAIL).suite.tasks
    async with client() as player:
        for wanted, task in (
            ({"task": tasks[4].id}, tasks[4].id),
            ({"index": 3}, tasks[3].id),
            ({"index": 2, "split": "train"}, tasks[2].id),
        ):
            await player.reset(seed=9, episode_id="mine", **wanted)
            state = await player.state()
            assert (state["task"], state["task_seed"], state["episode_id"]) == (task, 9, "mine")
        await player.step({"tool_name": "list_all_product_types"})
        for wanted, said in (
            ({"task": "nowhere"}, "nowhere"),
            ({"task_id": "x"}, "'task_id'"),
            ({"seed": -1}, "-1"),
            ({"index": -1}, "tasks"),
            ({"index": 1, "split": "test"}, "'test'"),
        ):
            with pytest.raises(RuntimeError, match=said):
                await player.reset(**wanted)


async def test_a_step_without_an_episode_is_refused() -> None:
    async with client() as player:
        with pytest.raises(RuntimeError, match="no episode"):
            await player.step({"tool_name": "list_all_product_types"})


async def test_tasks_can_be_listed() -> None:
    tasks = made(RETAIL).suite.tasks
    async with served(over_openenv, made(RETAIL).suite) as server, aiohttp.ClientSession(server.base) as http:
        (name,) = await (await http.get("/list_environments")).json()
        assert [split["name"] for split in await (await http.get(f"/{name}/splits")).json()] == ["train"]

        async def asked(what: str, **body: Any) -> Any:
            return await (await http.post(f"/{name}/{what}", json={"split": "train", **body})).json()

        assert await asked("num_tasks") == {"num_tasks": len(tasks)}
        assert await asked("task", index=1) == {"task": {"id": tasks[1].id, "index": 1}}
        assert [task["id"] for task in (await asked("tasks"))["tasks"]] == [task.id for task in tasks]
        assert len((await asked("task_range", start=1, stop=3))["tasks"]) == 2
        assert (await http.get("/metadata")).status == 200


async def test_its_own_tool_client_plays() -> None:
    async with served(over_openenv, made(RETAIL).suite) as server, MCPToolClient(base_url=server.base) as tools:
        await tools.reset(seed=1)
        assert "get_user_details" in [tool.name for tool in await tools.list_tools()]
        assert "not found" in str(await tools.call_tool("get_user_details", user_id="nobody"))


async def test_pages_of_other_sites_are_refused_without_a_token() -> None:
    async with served(over_openenv, made(RETAIL).suite) as server, aiohttp.ClientSession(server.base) as http:
        for headers in ({"Origin": "https://elsewhere.example"}, {"Host": "elsewhere.example"}):
            assert (await http.get("/schema", headers=headers)).status == 403
            with pytest.raises(aiohttp.WSServerHandshakeError):
                await http.ws_connect("/ws", headers=headers)
        for headers in ({}, {"Origin": "http://localhost:9"}):
            assert (await http.get("/schema", headers=headers)).status == 200
            await (await http.ws_connect("/ws", headers=headers)).close()


async def test_the_documented_code_runs(capsys: pytest.CaptureFixture[str]) -> None:
    page = CHECKOUT / "docs" / "other-trainers.md"
    code = "\n".join(block.code for block in blocks(page) if block.needs_openenv)
    async with served(over_openenv, made("simia/webshop-v0").suite) as server:
        await asyncio.to_thread(exec, code.replace("http://127.0.0.1:8770", server.base), {})
    assert capsys.readouterr().out.splitlines()[-1] == "0.0 True turn_limit True"
