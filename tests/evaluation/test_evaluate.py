"""An agent of one's own, scored as the command line scores policies."""

from __future__ import annotations

import asyncio
import json
import sys
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import gymnasium as gym
import pytest

from simia_gym import Fault, InputError, evaluate, read_records
from simia_gym.cli.app import run
from simia_gym.envs.webshop.expert import WebShopExpert
from simia_gym.oracle import OracleServer

SHOP = "simia/webshop-v0"
CALL = {"id": "c1", "type": "function", "function": {"name": "list_all_product_types", "arguments": "{}"}}
MESSAGE = {"role": "assistant", "content": None, "tool_calls": [CALL]}


def test_it_is_the_report_of_the_command_line(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    record = tmp_path / "r.jsonl"
    report = evaluate(SHOP, WebShopExpert, trials=2, seed=3, out=record)
    assert run(["evaluate", SHOP, "--trials", "2", "--seed", "3", "--out", str(tmp_path / "cli.jsonl"), "--json"]) == 0
    wanted: dict[str, Any] = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert set(report) == set(wanted)
    for key in set(report) - {"run"}:
        named = {"label": "WebShopExpert", "policy": "WebShopExpert", "source": str(record)}
        assert report[key] == ([{**wanted[key][0], **named}] if key == "series" else wanted[key])
    assert len(list(read_records(record))) == report["series"][0]["valid"] == 40
    assert "pass^2" in str(report)
    assert json.loads(json.dumps(report)) == report


def plain(messages: list[dict[str, Any]], tools: list[dict[str, Any]]) -> Any:
    assert (messages[0]["role"], tools[0]["type"]) == ("system", "function")
    assert not any("error_code" in message for message in messages)
    return "Goodbye." if messages[-1]["role"] == "tool" else MESSAGE


async def waiting(messages: list[dict[str, Any]], tools: list[dict[str, Any]]) -> Any:
    return plain(messages, tools)


def sdk(messages: list[dict[str, Any]], tools: list[dict[str, Any]]) -> Any:
    said = plain(messages, tools)
    return said if isinstance(said, str) else SimpleNamespace(model_dump=lambda exclude_none: said)


class Own:
    """A policy that must not play two episodes at once."""

    playing: str | None = None

    def start(self, start: Any) -> None:
        self.turns = 0

    def act(self, messages: Any) -> str:
        self.turns += 1
        assert len([message for message in messages if message["role"] == "assistant"]) == self.turns - 1
        return json.dumps(MESSAGE) if messages[-1]["role"] != "tool" else "Goodbye."


@pytest.mark.parametrize("agent", [plain, waiting, sdk, Own, Own()])
async def test_agents_of_every_kind_play_also_where_a_loop_runs(agent: Any, tmp_path: Path) -> None:
    report = evaluate("simia/retail-v0", agent, max_turns=2, out=tmp_path / "r.jsonl")
    assert report["series"][0]["invalid"] == 0
    for record in read_records(tmp_path / "r.jsonl"):
        calls = [event["call"]["name"] for event in record.events if event.get("call")]
        assert calls == ["list_all_product_types"]


def test_plain_functions_are_called_at_the_same_time() -> None:
    together = threading.Barrier(4, timeout=30)

    def agent(messages: Any, tools: Any) -> str:
        together.wait()
        return "search[lamp]"

    assert evaluate(SHOP, agent, max_turns=1, concurrency=4)["series"][0]["invalid"] == 0


def test_a_given_environment_brings_its_settings() -> None:
    env = gym.make(SHOP, split="train", max_turns=1, prompt="compact")
    scores = evaluate(env, "null")["series"][0]
    assert (scores["split"], scores["prompt"], scores["mean_turns"]["value"]) == ("train", "compact", 1.0)
    with pytest.raises(InputError, match="max_turns"):
        evaluate(env, "null", max_turns=2)


def test_what_fails_is_invalid_and_in_no_score() -> None:
    def agent(messages: Any, tools: Any) -> str:
        raise Fault("content_filter", "the model refused", role="policy")

    scores = evaluate(SHOP, agent)["series"][0]
    assert (scores["faults"], scores["pass_at_1"]["value"]) == ({"policy:content_filter": scores["episodes"]}, None)
    assert 10 <= scores["episodes"] < 20
    assert evaluate(SHOP, lambda messages, tools: None)["series"][0]["faults"].keys() == {"policy:bad_action"}


def test_a_bug_of_the_agent_is_shown_once_and_ends_the_run(caplog: pytest.LogCaptureFixture) -> None:
    def agent(messages: Any, tools: Any) -> str:
        return str(messages[len(tools) * 99])

    report = evaluate(SHOP, agent, concurrency=1)
    assert report["run"]["stopped"] == "bug"
    assert report["series"][0]["episodes"] == report["series"][0]["invalid"] == 5
    traces = [record.getMessage() for record in caplog.records if "Traceback" in record.getMessage()]
    assert len(traces) == 1
    assert "messages[len(tools) * 99]" in traces[0]


@pytest.mark.parametrize("agent", [None, 3, "nobody"])
def test_what_is_no_agent_is_refused(agent: Any) -> None:
    with pytest.raises(InputError, match=r"agent|nobody"):
        evaluate(SHOP, agent)


def test_environments_of_others_are_refused() -> None:
    with pytest.raises(InputError, match="CartPole"):
        evaluate(gym.make("CartPole-v1"), "null")
    with pytest.raises(InputError, match="trials"):
        evaluate(SHOP, "null", trials=0)


def test_some_tasks_are_played_and_a_record_is_continued_with_more(tmp_path: Path) -> None:
    out = tmp_path / "r.jsonl"
    first = evaluate(SHOP, "expert", tasks=["webshop-test-003", "webshop-test-001"], trials=2, out=out)
    assert [(one["task"], one["member"]) for one in first.episodes] == [
        (f"webshop-test-00{task}", member) for task in (1, 3) for member in (0, 1)
    ]
    kept = out.read_bytes()
    more = evaluate(SHOP, "expert", limit=4, trials=2, out=out, resume=True)
    assert out.read_bytes().startswith(kept)
    assert len(out.read_bytes().splitlines()) == len(more.episodes) == 8
    assert [one for one in more.episodes if one["task"] in ("webshop-test-001", "webshop-test-003")] == [
        *first.episodes
    ]
    alone = evaluate(SHOP, "expert", trials=2)
    assert [one for one in alone.episodes if one in more.episodes] == [*more.episodes]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"tasks": ["webshop-test-01"]}, "Did you mean 'webshop-test-0"),
        ({"tasks": ["webshop-test-001"] * 2}, "given twice"),
        ({"tasks": "webshop-test-001"}, "list of ids"),
        ({"limit": 0}, "limit is 0"),
        ({"timeout": 0}, "timeout is 0"),
        ({"resume": True}, "no record to continue"),
    ],
)
def test_a_wrong_choice_is_named(given: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        evaluate(SHOP, "null", **given)


def test_an_episode_that_takes_too_long_is_a_fault() -> None:
    async def agent(messages: Any, tools: Any) -> str:
        await asyncio.sleep(60)
        return ""

    (one,) = evaluate(SHOP, agent, limit=1, timeout=0.05).episodes
    assert (one["valid"], one["reward"], one["fault"]) == (False, None, "episode:timeout")


@pytest.mark.parametrize("shown", [True, False])
def test_progress_is_shown_where_it_is_asked_for(shown: bool, capfd: pytest.CaptureFixture[str]) -> None:
    evaluate(SHOP, "null", limit=1, max_turns=1, progress=shown)
    assert bool(capfd.readouterr().err.strip()) == shown


def test_episodes_become_a_table_of_pandas(monkeypatch: pytest.MonkeyPatch) -> None:
    report = evaluate(SHOP, "null", limit=2, max_turns=1)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(InputError, match=r"pandas is not installed.*episodes"):
        report.to_pandas()
    rows: list[dict[str, Any]] = []
    monkeypatch.setitem(sys.modules, "pandas", type("Pandas", (), {"DataFrame": staticmethod(rows.extend)}))
    report.to_pandas()
    assert rows == [*report.episodes]
    assert [row["task"] for row in rows] == ["webshop-test-000", "webshop-test-001"]


def test_what_was_spent_is_that_of_one_evaluation(oracle: OracleServer) -> None:
    def calls() -> int:
        given: dict[str, Any] = {"simulator": "llm", "model": "oracle", "base_url": oracle.base_url, "render": "model"}
        report = evaluate(SHOP, "expert", limit=1, **given)
        return int(report["run"]["models"]["simulator"]["calls"])

    assert calls() == calls() > 0
