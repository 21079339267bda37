"""Runs in which models play a part, through the command line and over HTTP, up to the files that they leave."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest
from rich.console import Console

from simia_gym.assembly.resources import Resources
from simia_gym.assembly.settings import EnvConfig
from simia_gym.assembly.suite import load_suite
from simia_gym.cli.terminal.progress import Display
from simia_gym.cli.terminal.results import spending_lines
from simia_gym.common.formatting import dollars
from simia_gym.common.output import Output
from simia_gym.errors import InputError
from simia_gym.evaluation.estimate import estimate
from simia_gym.llm.accounts import Accounts, accounts, in_short
from simia_gym.llm.types import Usage
from simia_gym.oracle import OracleOptions, OracleServer, serve_in_thread
from simia_gym.policies import PolicyOptions
from simia_gym.record.records import read_records
from simia_gym.simulators.pins import MemoryPins

from .conftest import Simia
from .servers import PAGE, answering, completion

RETAIL = "simia/retail-v0"
KEY = "sk-the-right-key-of-all"


@pytest.fixture(scope="module")
def strict() -> Iterator[OracleServer]:
    with serve_in_thread(OracleOptions(api_key=KEY, model="oracle", context_tokens=500)) as server:
        yield server


@pytest.fixture
def run(simia: Simia, oracle: OracleServer) -> Callable[..., Any]:
    """A rollout that the oracle plays in."""

    def call(*words: object, env: str = RETAIL, out: str = "out.jsonl") -> Any:
        accounts().after_fork()
        place = ("--model", "oracle", "--base-url", oracle.base_url)
        return simia("rollout", env, "--out", out, *place, *words, "--json")

    return call


def left_behind() -> list[str]:
    return sorted(path.name for path in Path().rglob("*") if path.is_file())


BAD_ENDPOINTS = [
    ("http://127.0.0.1:9/v1", "oracle", KEY, "check the base URL"),
    ("http://no-such-host.invalid/v1", "oracle", KEY, "check the base URL"),
    ("", "oracle", "sk-some-other-key-here", "The key is wrong or missing"),
    ("", "gpt-nonsense", KEY, "check the model's name"),
    ("", "oracle", KEY, "use a model with a longer context"),
]


@pytest.mark.parametrize(("place", "model", "key", "says"), BAD_ENDPOINTS, ids=[case[3] for case in BAD_ENDPOINTS])
@pytest.mark.parametrize("role", ["simulator", "user", "judge"])
def test_what_cannot_work_is_one_line_before_any_episode(
    place: str,
    model: str,
    key: str,
    says: str,
    role: str,
    simia: Simia,
    strict: OracleServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SIMIA_API_KEY", key)
    url = place if place.startswith("http") else strict.base_url.removesuffix("/v1") + (place or "/v1")
    part = ("--simulator", "llm" if role == "simulator" else "world")
    words = [*part, *(() if role == "simulator" else (f"--{role}", "llm"))]
    result = simia("rollout", RETAIL, *words, "--model", model, "--base-url", url, "--record-cassette", "c.jsonl")
    assert result.code == 2, result.out + result.err
    assert result.out == ""
    assert result.err.count("\n") == 1
    assert result.err.startswith(f"simia: error: the {role}'s model: ")
    assert says in result.err
    assert key not in result.err
    assert left_behind() == []


@pytest.mark.parametrize(
    ("status", "says"),
    [
        (200, "not OpenAI-compatible"),
        (404, "base URL"),
        (405, "base URL"),
        (501, "base URL"),
        (401, "key"),
        (400, "settings"),
    ],
)
def test_a_server_that_is_no_model(status: int, says: str, simia: Simia) -> None:
    with answering(status, PAGE, "text/html") as address:
        place = ("--model", "m", "--base-url", f"http://{address}/")
        result = simia("rollout", RETAIL, "--simulator", "llm", *place)
    assert (result.code, result.out, result.err.count("\n")) == (2, "", 1)
    assert says in result.err
    assert left_behind() == []


def test_the_policy_is_looked_at_too(desk: str, simia: Simia) -> None:
    before = left_behind()
    place = ("--policy-model", "m", "--policy-base-url", "http://127.0.0.1:9/v1")
    result = simia("rollout", desk, "--policy", "llm", *place)
    assert result.code == 2
    assert "the policy's model" in result.err
    assert left_behind() == before


def test_a_busy_server_stops_nothing(simia: Simia) -> None:
    with answering(503, b"{}") as address:
        words = ("--user", "llm", "--role", "user.retries=0", "--model", "m", "--base-url", f"http://{address}/v1")
        result = simia("rollout", RETAIL, "--episodes", 2, "--simulator", "world", *words, "--json")
    assert result.code == 1
    assert result.json["fault_kinds"] == {"user:server_error": 2}
    assert "the user's model: HTTP 503" in result.err
    assert "Going on all the same." in result.err


def test_one_model_of_several_roles_is_asked_once(simia: Simia) -> None:
    with serve_in_thread() as server:
        words = ("--simulator", "llm", "--user", "llm", "--judge", "llm", "--model", "o", "--base-url", server.base_url)
        assert simia("rollout", RETAIL, "--episodes", 1, *words).code == 0
        assert server.counts["requests"]["plain"] == 1


DOCTOR = ["answers", "model", "structured", "seeds", "latency"]


def test_doctor_tries_a_model(simia: Simia, oracle: OracleServer) -> None:
    result = simia("doctor", "--model", "oracle", "--base-url", oracle.base_url, "--json")
    assert result.code == 0
    (model,) = result.json["models"]
    assert model["roles"] == ["simulator", "user", "judge"]
    assert model["host"] == oracle.base_url.removeprefix("http://").removesuffix("/v1")
    assert list(model["found"]) == DOCTOR
    assert {found["status"] for found in model["found"].values()} == {"ok"}
    assert [item["name"] for item in result.json["findings"] if item["part"] == "model"] == DOCTOR


def test_doctor_tries_every_role_of_the_variables(
    simia: Simia, oracle: OracleServer, strict: OracleServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SIMIA_MODEL", "oracle")
    monkeypatch.setenv("SIMIA_BASE_URL", oracle.base_url)
    monkeypatch.setenv("SIMIA_JUDGE_BASE_URL", strict.base_url)
    monkeypatch.setenv("SIMIA_JUDGE_API_KEY", "sk-of-the-judge-1234")
    monkeypatch.setenv("SIMIA_POLICY_MODEL", "p")
    monkeypatch.setenv("SIMIA_POLICY_BASE_URL", oracle.base_url)
    result = simia("doctor", "--json")
    assert result.code == 1
    models = result.json["models"]
    assert [model["roles"] for model in models] == [["simulator", "user"], ["judge"], ["policy"]]
    assert [model["found"]["answers"]["status"] for model in models] == ["ok", "error", "ok"]
    assert "key is wrong" in models[1]["found"]["answers"]["text"]
    told = simia("doctor")
    assert "key is wrong" in told.out.split("\n\n")[0]
    assert "sk-of-the-judge-1234" not in result.out + result.err + told.out + told.err


def test_doctor_without_a_model(simia: Simia) -> None:
    result = simia("doctor", "--json")
    assert (result.code, result.json["models"]) == (0, [])
    (only,) = [item for item in result.json["findings"] if item["part"] == "model"]
    assert only["ok"] is None
    assert "none is configured" in only["says"]
    named = {item["name"] for item in result.json["findings"] if item["part"] == "variable"}
    assert {"SIMIA_MODEL", "SIMIA_BASE_URL", "SIMIA_API_KEY", "SIMIA_JUDGE_MODEL", "SIMIA_USER_API_KEY"} <= named
    assert simia("doctor", "--model", "m").code == 2
    assert simia("doctor", "--base-url", "http://127.0.0.1:9/v1").code == 2


def test_what_a_server_cannot_do_is_said(simia: Simia) -> None:
    with serve_in_thread(OracleOptions(no_structured=True, model="real")) as server:
        result = simia("doctor", "--model", "real", "--base-url", server.base_url, "--json")
    assert result.code == 0
    found = result.json["models"][0]["found"]
    assert found["structured"]["status"] == "warning"


PARTS = ("--simulator", "llm", "--user", "llm", "--judge", "llm-all", "--group", 2, "--episodes", 6)


def lines(name: str) -> list[str]:
    return sorted(Path(name).read_text().splitlines())


def test_a_run_from_its_cassette_is_the_same_bytes_and_needs_no_endpoint(run: Callable[..., Any], simia: Simia) -> None:
    first = run(*PARTS, "--record-cassette", "c.jsonl")
    assert first.code == 0, first.err
    again = simia(
        "rollout", RETAIL, "--out", "again.jsonl", *PARTS, "--model", "oracle", "--replay-cassette", "c.jsonl"
    )
    assert again.code == 0, again.err
    assert lines("again.jsonl") == lines("out.jsonl")
    assert "expected calls" not in again.out
    assert simia("replay", "again.jsonl").code == 0


def test_what_is_not_on_the_cassette_is_a_fault(run: Callable[..., Any], simia: Simia) -> None:
    assert run(*PARTS, "--record-cassette", "c.jsonl").code == 0
    words = (
        "--simulator",
        "llm",
        "--episodes",
        1,
        "--split",
        "test",
        "--model",
        "oracle",
        "--replay-cassette",
        "c.jsonl",
    )
    result = simia("rollout", RETAIL, *words, "--json")
    assert result.code == 1
    assert result.json["fault_kinds"] == {"simulator:cassette_miss": 1}
    assert "the cassette has no answer" in result.err


def test_the_policy_is_on_the_cassette_too(desk: str, simia: Simia) -> None:
    words = ("rollout", desk, "--policy", "llm", "--policy-model", "m", "--episodes", 4, "--group", 2)
    with answering(200, completion("I do not know.")) as address:
        place = ("--policy-base-url", f"http://{address}/v1")
        assert simia(*words, *place, "--out", "a.jsonl", "--record-cassette", "c.jsonl").code == 0
    assert simia(*words, "--out", "b.jsonl", "--replay-cassette", "c.jsonl").code == 0
    assert lines("a.jsonl") == lines("b.jsonl")


def test_cost_without_prices_cannot_be_limited(run: Callable[..., Any]) -> None:
    words = ("--simulator", "llm", "--judge", "llm", "--episodes", 2, "--max-cost", 1)
    result = run(*words)
    assert result.code == 2
    assert "--role simulator.price_in=" in result.err
    assert left_behind() == []
    prices = [word for role in ("simulator", "judge") for side in ("in", "out") for word in _price(role, side)]
    assert "--role judge.price_in=" in run(*words, *prices[:4]).err
    paid = run(*words, *prices)
    assert paid.code == 0, paid.err
    assert paid.json["models"]["simulator"]["cost_usd"] > 0
    assert "$" in paid.err
    dear = run(*words[:-1], 0.001, *prices, out="dear.jsonl")
    assert (dear.code, dear.json["stopped"]) == (1, "budget")


def _price(role: str, side: str) -> tuple[str, str]:
    return "--role", f"{role}.price_{side}=1"


def test_the_budget_holds_for_the_policy(desk: str, simia: Simia) -> None:
    with answering(200, completion("I do not know.")) as address:
        place = ("--policy", "llm", "--policy-model", "m", "--policy-base-url", f"http://{address}/v1")
        result = simia("rollout", desk, *place, "--max-tokens", 4000, "--concurrency", 1, "--json")
        assert result.code == 1
        assert result.json["fault_kinds"] == {"policy:budget": 1}
        unpriced = simia("rollout", desk, *place, "--max-cost", 1)
        assert (unpriced.code, "--role policy.price_in=" in unpriced.err) == (2, True)
        unknown = simia("rollout", desk, *place, "--role", "policy.colour=1")
        assert (unknown.code, "unknown setting 'colour'" in unknown.err) == (2, True)


def test_how_the_policy_is_sampled_is_part_of_the_record(desk: str, simia: Simia) -> None:
    with answering(200, completion("I do not know.")) as address:
        place = ("--policy", "llm", "--policy-model", "m", "--policy-base-url", f"http://{address}/v1")
        words = ("rollout", desk, *place, "--episodes", 1, "--out", "o.jsonl")
        assert simia(*words, "--role", "policy.temperature=0.5", "--role", "policy.retries=1").code == 0
        assert simia("replay", "o.jsonl").code == 0
        same = simia(*words, "--resume", "--role", "policy.temperature=0.5")
        other = simia(*words, "--resume", "--role", "policy.temperature=1")
    assert (same.code, other.code) == (0, 2)
    assert "policy_hash" in other.err


@pytest.mark.parametrize(("counts", "words"), [((True, True), ""), ((False, True, False), "tokens of 2 answers")])
def test_what_no_server_counted_is_said(counts: Sequence[bool], words: str) -> None:
    kept = Accounts()
    for by_server in counts:
        kept.answered("judge", Usage(10, 0, 5), 0.0, 0.1, counted=by_server)
    (line,) = spending_lines(kept.snapshot())
    assert ("estimated" in line, words in line) == (bool(words), True)


ESTIMATES: list[tuple[str, tuple[object, ...]]] = [
    (RETAIL, ("--simulator", "llm")),
    (RETAIL, ("--simulator", "llm", "--group", 4)),
    (RETAIL, ("--simulator", "llm", "--strategy", "reference", "--judge", "llm")),
    (RETAIL, ("--simulator", "hybrid", "--route", "get_order_details=llm")),
    (RETAIL, ("--simulator", "llm", "--user", "llm", "--judge", "llm-all")),
    (RETAIL, ("--simulator", "llm", "--judge", "llm-all", "--votes", 3)),
    (RETAIL, ("--simulator", "llm", "--policy", "random")),
    ("simia/webshop-v0", ("--simulator", "llm")),
    ("simia/webshop-v0", ("--simulator", "llm", "--strategy", "reference")),
    ("simia/webshop-v0", ("--simulator", "hybrid", "--route", "search=llm")),
]


@pytest.mark.parametrize(("env", "words"), ESTIMATES, ids=[f"{env} {words}" for env, words in ESTIMATES])
def test_the_estimate_is_near(env: str, words: tuple[object, ...], run: Callable[..., Any], monkeypatch: Any) -> None:
    import simia_gym.cli.rollout as module

    found: list[Any] = []

    def kept(*arguments: Any, **options: Any) -> Any:
        found.append(estimate(*arguments, **options))
        return found[-1]

    monkeypatch.setattr(module, "estimate", kept)
    result = run(*words, "--episodes", 16, env=env)
    (expected,) = found
    assert str(expected) in result.err
    for role, spent in result.json["models"].items():
        near(expected.calls[role], spent["calls"], 1.25)
        near(expected.prompt_tokens[role], spent["prompt_tokens"], 1.5)
        # Nobody knows beforehand how much a judge writes; an oracle writes little.
        near(expected.reply_tokens[role], spent["completion_tokens"], 1.5 if role == "simulator" else 3)


PRICES = {"price_in": 1, "price_out": 2}
UNKNOWN = "; cost unknown: give --role {0}.price_in=... and {0}.price_out=..."


@pytest.mark.parametrize(
    ("roles", "address", "end"),
    [
        ({}, "https://models.example/v1", UNKNOWN.format("simulator") + ", and those of user"),
        ({"simulator": PRICES, "user": {"price_in": 1}}, "https://models.example/v1", UNKNOWN.format("user")),
        ({"simulator": PRICES, "user": PRICES}, "https://models.example/v1", ""),
        ({}, "http://127.0.0.1:8000/v1", ""),
        ({}, "http://localhost:8000/v1", ""),
        ({}, "http://[::1]:8000/v1", ""),
    ],
)
def test_prices_that_are_missing_are_asked_for(roles: dict[str, Any], address: str, end: str) -> None:
    suite = load_suite(
        EnvConfig(RETAIL, simulator="llm", user="llm", model="m", roles=roles), Resources(base_url=address)
    )
    line = str(estimate(suite, 4))
    assert line.endswith(f"without thinking){end}")
    assert ("$" in line) is (len(roles) == 2 and not end)


def test_the_price_of_a_policy_is_asked_for(desk: str) -> None:
    suite = load_suite(EnvConfig("simia/custom-v0", domain=desk))
    policy = PolicyOptions(model="m", base_url="https://models.example/v1")
    line = str(estimate(suite, 4, player="llm", policy=policy))
    assert line.endswith(UNKNOWN.format("policy"))


def near(expected: float, real: float, factor: float) -> None:
    assert real / factor <= expected <= real * factor


def test_no_estimate_where_the_domain_breaks(run: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    import simia_gym.evaluation.estimate as module

    def broken(*arguments: object) -> None:
        raise SystemExit(3)

    monkeypatch.setattr(module, "make_user", broken)
    result = run("--simulator", "llm", "--episodes", 1)
    assert result.code == 0
    assert "expected calls" not in result.err


SHOWN = {True: ["1 call · 12M tokens · $123.46 · 12 retries"], False: ["1 call · $123.46 · 12 retries"]}


@pytest.mark.parametrize("width", [60, 80, 110, 200])
@pytest.mark.parametrize("models", [True, False])
@pytest.mark.parametrize("env", ["simia/retail-v0", "simia/webshop-v0", "somebody/a-name-longer-than-that-v0"])
def test_the_progress_line_fits(width: int, models: bool, env: str, tmp_path: Path, desk: str, simia: Simia) -> None:
    simia("rollout", desk, "--out", "r.jsonl")
    record = next(iter(read_records(Path("r.jsonl"))))
    output = Output(False)
    output.console = Console(width=width, height=24, file=io.StringIO(), force_terminal=True, color_system=None)
    display = Display(output, env, models=models)
    if models:
        accounts().asked("simulator", 1, 1)
        accounts().answered("simulator", Usage(12_345_678, 0, 5), 123.456, 0.1)
        for _ in range(12):
            accounts().failed("simulator", "connection")
    with display.progress(4000):
        for _ in range(3999):
            display.done(record)
    file = output.console.file
    assert isinstance(file, io.StringIO)
    shown = [line for line in file.getvalue().replace("\r", "\n").split("\n") if "success" in line]
    line = shown[-1].rpartition("\x1b[2K")[2]
    assert len(line) <= width
    for text in ("3999/4000", "success 100%", "0:00:0", *(SHOWN[width >= 110] if models and width >= 80 else [])):
        assert text in line
    assert ("…" in line) == (env.startswith("somebody"))
    assert "━" in line


@pytest.mark.parametrize(
    ("cost", "says"), [(12.345, "$12.35"), (0.0123, "$0.012"), (0.00001, "<$0.0001"), (0, "$0.00")]
)
def test_amounts(cost: float, says: str) -> None:
    assert dollars(cost) == says


def test_the_running_total() -> None:
    role: dict[str, Any] = {"calls": 1200, "prompt_tokens": 3_400_000, "completion_tokens": 1, "cost_usd": 0.0}
    role |= {"failures": {"timeout": 5, "connection": 2}, "faults": {"timeout": 1, "budget": 3}}
    assert in_short({"judge": role}) == "1.2k calls · 3.4M tokens · 6 retries"


@pytest.mark.parametrize("stored", [True, False])
def test_pins_from_python_are_a_switch_or_a_store(stored: bool, oracle: OracleServer) -> None:
    store = MemoryPins()
    place: dict[str, Any] = {"simulator": "llm", "model": "oracle", "base_url": oracle.base_url}
    env: Any = gym.make(RETAIL, **place, pins=store if stored else False)
    action = '<tool_call>{"name": "find_user_id_by_email", "arguments": {"email": "a@b.c"}}</tool_call>'
    routes = []
    for _ in range(2):
        env.reset(seed=1, options={"group": "g"})
        env.step(action)
        asked = sum(event["type"] == "model" for event in env.unwrapped.episode.ledger.events)
        routes.append(asked)
    assert routes == [1, 1]
    assert oracle.counts["requests"]["ledger"] >= 1
    assert (store.made if stored else 0) == int(stored)
    with pytest.raises(InputError, match="pins is 3"):
        gym.make(RETAIL, **place, pins=3)


def test_the_picture_says_who_played(run: Callable[..., Any]) -> None:
    assert run("--simulator", "llm", "--judge", "llm", "--episodes", 1, "--svg", "p.svg").code == 0
    text = Path("p.svg").read_text().replace("&#160;", " ")
    assert "--episodes 1 --simulator llm --judge llm --model oracle" in " ".join(text.split())


def test_doctor_says_how_long_the_context_is(simia: Simia) -> None:
    both = json.loads(completion("ready")) | {"data": [{"id": "m", "max_model_len": 32768}]}
    with answering(200, json.dumps(both).encode()) as address:
        result = simia("doctor", "--model", "m", "--base-url", f"http://{address}/v1", "--json")
    found = result.json["models"][0]["found"]
    assert found["context"] == {"status": "ok", "text": "reads and writes up to 32,768 tokens"}
    assert found["structured"]["status"] == "warning"
