"""Task folders for Harbor: their layout, and their verifier run by hand against the server that they name."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import httpx2
import pytest
import yaml

from simia_gym import EnvConfig, Resources, load_suite
from simia_gym.cli.app import run
from simia_gym.rl.serving import web
from simia_gym.rl.serving.hosted import HostedEpisodes

from ..model_server import serving
from .native import Native, native
from .services import service_named

over_mcp = service_named("mcp")

from simia_gym.rl.serving.mcp_server import make_app  # noqa: E402 - once it is known to be there

RETAIL = "simia/retail-v0"


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("harbor") / "tasks"
    assert run(["export-tasks", RETAIL, str(folder), "--split", "train", "--limit", "4", "--seed", "5"]) == 0
    return folder


def test_a_folder_says_how_its_task_is_played(exported: Path) -> None:
    names = [f"retail-train-{number:03}" for number in (1, 2, 3, 4)]
    assert sorted(path.name for path in exported.iterdir()) == names
    folder = exported / names[2]
    config = tomllib.loads((folder / "task.toml").read_text())
    (server,) = config["environment"]["mcp_servers"]
    assert server["url"].endswith(f"/mcp/trial?task={names[2]}&seed=5")
    services = yaml.safe_load((folder / "environment" / "docker-compose.yaml").read_text())["services"]
    assert services["simia"]["network_mode"] == "service:main"
    assert services["simia"]["command"][:5] == ["simia", "serve-mcp", RETAIL, "--split", "train"]
    assert services["simia"]["environment"] == config["verifier"]["env"]
    assert config["verifier"]["env"]["SIMIA_VERDICT_TOKEN"] not in (folder / "instruction.md").read_text()
    assert run(["export-tasks", RETAIL, str(exported)]) == 2  # it holds something


async def verify(folder: Path, base: str, out: Path) -> int:
    """Run the verifier as Harbor does, but for where things are."""
    config = tomllib.loads((folder / "task.toml").read_text())
    env = config["verifier"]["env"]
    words = [sys.executable, str(folder / "tests" / "verify.py"), str(out), f"{base}/episodes/trial"]
    done = await asyncio.to_thread(subprocess.run, words, env=env, capture_output=True, check=False)
    return done.returncode


async def play(folder: Path, suite: Any, calls: Any, out: Path) -> int:
    config = tomllib.loads((folder / "task.toml").read_text())
    (server,) = config["environment"]["mcp_servers"]
    name = server["url"].rpartition("/mcp/")[2]
    episodes = HostedEpisodes(suite, most=1, idle=600.0)
    app = make_app(episodes, host="127.0.0.1", verdict_token=config["verifier"]["env"]["SIMIA_VERDICT_TOKEN"])
    with web.listen("127.0.0.1", 0) as listening:
        base = web.base_url(listening)
        async with web.running(app, episodes, listening), over_mcp.session(base, f"{name}&") as player:
            for made_call in calls:
                await player.call(*made_call)
            async with httpx2.AsyncClient(base_url=base) as http:
                for method in ("GET", "DELETE"):  # an agent cannot begin again, nor see what is judged
                    assert (await http.request(method, "/episodes/trial")).status_code == 401
            return await verify(folder, base, out)


@pytest.fixture
def expected() -> Native:
    return native(RETAIL, 2)


@pytest.mark.parametrize(("part", "reward"), [("all", 1.0), ("start", 0.0), ("none", 0.0)])
async def test_the_verifier_writes_the_reward(
    part: str, reward: float, exported: Path, expected: Native, tmp_path: Path
) -> None:
    calls = [("start_conversation", {}), *expected.calls]
    suite = load_suite(EnvConfig(RETAIL, split="train", history="transcript"))
    some = {"all": calls, "start": calls[:1], "none": []}[part]
    if part == "none":
        some = [("get_user_details", {"user_id": "x"})]  # refused: the conversation was not begun
    assert await play(exported / expected.task, suite, some, tmp_path) == 0
    assert json.loads((tmp_path / "reward.json").read_text()) == {"reward": reward}


async def test_a_fault_writes_no_reward(exported: Path, tmp_path: Path) -> None:
    async with serving(lambda asked: "no world today") as model:
        config = EnvConfig(RETAIL, split="train", simulator="llm", model="m", user="scripted", history="transcript")
        suite = load_suite(config, Resources(base_url=model.url, api_key="k"))
        calls = [("start_conversation", {}), ("get_user_details", {"user_id": "mei_li_1234"})]
        assert await play(exported / "retail-train-003", suite, calls, tmp_path) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["verdict.json"]
