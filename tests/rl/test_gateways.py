"""The recipes for gateways, as far as they need no package of others; `benchmarks.gateways` runs the rest for real."""

from __future__ import annotations

import json
from typing import Any

import pytest

from simia_gym import Fault, load_suite
from simia_gym.assembly.settings import EnvConfig
from simia_gym.rl.recipes.areal_agent import SimiaAgent
from simia_gym.rl.recipes.gateways import gateway_rows, play_row, suite_of
from simia_gym.rl.recipes.skyrl_rows import begin, skyrl_rows

from ..model_server import serving
from ..serving.native import made, native

SETTINGS: dict[str, Any] = {"split": "test", "prompt": "compact", "max_turns": 2}
ROWS = gateway_rows("simia/webshop-v0", seeds=2, **SETTINGS)


def said(text: str, reason: str = "stop") -> dict[str, Any]:
    return {"choices": [{"finish_reason": reason, "message": {"role": "assistant", "content": text}}]}


def test_a_row_is_json_and_names_a_task_and_a_seed() -> None:
    suite = load_suite(EnvConfig("simia/webshop-v0", **SETTINGS))
    assert json.loads(json.dumps(ROWS)) == ROWS
    assert [(row["task"], row["seed"]) for row in ROWS] == [(task.id, seed) for seed in (0, 1) for task in suite.tasks]
    assert suite_of(ROWS[0]) is suite_of(ROWS[-1])
    assert suite_of(ROWS[0]).max_turns == 2


async def test_a_turn_is_one_request_without_a_seed_also_where_the_reply_is_empty() -> None:
    async with serving(lambda asked: said("search[green tea]"), lambda asked: said("")) as server:
        played = await play_row(ROWS[0], base_url=server.url, api_key="k", model="m")
        assert len(server.bodies) == played.turns == 2
        assert not any("seed" in body for body in server.bodies)
    assert played.reward == 0.0
    assert (played.task, played.seed, played.ended) == (ROWS[0]["task"], 0, "turn_limit")


@pytest.mark.parametrize("inline", [True, False])
async def test_areals_agent_gives_a_float_and_raises_a_fault(inline: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    async with serving(lambda asked: said("search[green tea]"), lambda asked: said("x"), lambda asked: 400) as server:
        given = {"base_url": server.url, "api_key": "session", "http_client": None} if inline else {}
        if not inline:
            monkeypatch.setenv("OPENAI_BASE_URL", server.url)
            monkeypatch.setenv("OPENAI_API_KEY", "session")
        reward = await SimiaAgent(any_setting=1).run(ROWS[1], **given)
        assert (type(reward), reward) == (float, 0.0)
        assert {asked.request.headers["Authorization"] for asked in server.asked} == {"Bearer session"}
        with pytest.raises(Fault) as caught:
            await SimiaAgent().run(ROWS[1], **given)
    assert caught.value.role == "policy"


@pytest.mark.parametrize("env", ["simia/retail-v0", "simia/webshop-v0"])
def test_a_row_of_skyrl_shows_what_its_episode_begins_with(env: str) -> None:
    """Its prompt is that of `gym.make` with the same seed, and the row comes back from a file as it was."""
    expected = native(env, 0)
    rows = skyrl_rows(env, split="train", history="transcript")
    assert [json.loads(row["simia"])["task"] for row in rows] == [task.id for task in made(env).suite.tasks]
    assert {(row["env_class"], *(message["role"] for message in row["prompt"])) for row in rows} == {
        ("simia", "system", "user")
    }
    read = json.loads(json.dumps(rows[0]))
    assert read == rows[0]
    row = json.loads(read["simia"]) | {"seed": expected.seed}
    episode = suite_of(row).episode()
    assert begin(episode, row).messages[-1]["content"] == expected.first
