"""Runs in which models play a part, through the command line and over HTTP, up to the files that they leave."""

from __future__ import annotations

import io
import json
import re
import socket
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest

from simia_gym import env_ids
from simia_gym.assembly.resources import Resources
from simia_gym.assembly.settings import EnvConfig
from simia_gym.assembly.suite import load_suite
from simia_gym.cli.terminal.progress import Display
from simia_gym.common.event_loop import run_sync
from simia_gym.common.json_encoding import encode
from simia_gym.common.output import Output, SafeConsole
from simia_gym.episode import Episode
from simia_gym.errors import InputError
from simia_gym.evaluation.estimate import estimate
from simia_gym.llm.accounts import accounts
from simia_gym.llm.types import Usage
from simia_gym.oracle import OracleOptions, OracleServer, serve_in_thread
from simia_gym.policies import PolicyOptions
from simia_gym.record.records import read_records
from simia_gym.rollout.play import play
from simia_gym.simulators.pins import MemoryPins
from simia_gym.types import Message

from .conftest import Simia
from .servers import PAGE, answering, completion

RETAIL = "simia/retail-v0"
KEY = "sk-the-right-key-of-all"
Run = Callable[..., Any]


@pytest.fixture(scope="module")
def strict() -> Iterator[OracleServer]:
    with serve_in_thread(OracleOptions(api_key=KEY, model="oracle", context_tokens=500)) as server:
        yield server


@pytest.fixture
def run(simia: Simia, oracle: OracleServer) -> Run:
    """A rollout that the oracle plays in."""

    def call(*words: object, env: str = RETAIL, out: str = "out.jsonl") -> Any:
        place = ("--model", "oracle", "--base-url", oracle.base_url)
        return simia("rollout", env, "--out", out, *place, *words, "--json")

    return call


@pytest.fixture
def at_policy() -> Iterator[tuple[str, ...]]:
    """The options of a policy's model that always makes the same call."""
    call = '<tool_call>{"name": "list_all_product_types", "arguments": {}}</tool_call>'
    with answering(200, completion(call)) as address:
        yield ("--policy", "llm", "--policy-model", "m", "--policy-base-url", f"http://{address}/v1")


def left_behind() -> list[str]:
    return sorted(path.name for path in Path().rglob("*") if path.is_file())


@pytest.mark.parametrize(
    ("place", "model", "key", "says"),
    [
        ("http://127.0.0.1:9/v1", "oracle", KEY, "check the base URL"),
        ("http://no-such-host.invalid/v1", "oracle", KEY, "check the base URL"),
        ("", "oracle", "sk-some-other-key-here", "_API_KEY or OPENAI_API_KEY (the first of them counts)"),
        ("", "gpt-nonsense", KEY, "check the model's name"),
        ("", "oracle", KEY, "use a model with a longer context"),
        ("https", "oracle", KEY, "write http:// instead of https://"),
    ],
)
@pytest.mark.parametrize("role", ["simulator", "user", "judge", "policy"])
@pytest.mark.sampled
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
    for name, value in (("MODEL", model), ("API_KEY", key), ("POLICY_MODEL", model), ("POLICY_API_KEY", key)):
        monkeypatch.setenv(f"SIMIA_{name}", value)
    url = place if "://" in place else strict.base_url.replace("http:", f"{place or 'http'}:")
    monkeypatch.setenv("SIMIA_BASE_URL", url)
    monkeypatch.setenv("SIMIA_POLICY_BASE_URL", url)
    words = ("--simulator", "llm") if role == "simulator" else ("--simulator", "world", f"--{role}", "llm")
    result = simia("rollout", RETAIL, *words, "--record-cassette", "c.jsonl")
    assert (result.code, result.out, result.err.count("\n")) == (2, "", 1), result.err
    assert result.err.startswith(f"simia: error: the {role}'s model: ")
    assert says in result.err
    assert key not in result.err
    assert left_behind() == []


@pytest.mark.parametrize(
    ("answer", "says"),
    [((200, PAGE, "text/html"), ("not OpenAI-compatible",)), ((302, b""), ("give the final address", "Location"))],
)
@pytest.mark.slow
def test_a_server_that_is_no_model(answer: tuple[Any, ...], says: tuple[str, ...], simia: Simia) -> None:
    with answering(*answer) as address:
        result = simia("rollout", RETAIL, "--simulator", "llm", "--model", "m", "--base-url", f"http://{address}/v1")
    assert (result.code, result.out, result.err.count("\n")) == (2, "", 1)
    assert all(text in result.err for text in says)


def test_a_busy_server_stops_nothing(simia: Simia) -> None:
    with answering(503, b"{}") as address:
        words = ("--user", "llm", "--role", "user.retries=0", "--model", "m", "--base-url", f"http://{address}/v1")
        result = simia("rollout", RETAIL, "--episodes", 2, "--simulator", "world", *words, "--json")
    assert (result.code, result.json["fault_kinds"]) == (1, {"user:server_error": 2})
    assert "the user's model: HTTP 503" in result.err
    assert "with such faults again: simia " in result.err


def test_one_model_of_several_roles_is_asked_once(simia: Simia) -> None:
    with serve_in_thread() as server:
        words = ("--simulator", "llm", "--user", "llm", "--judge", "llm", "--model", "o", "--base-url", server.base_url)
        assert simia("rollout", RETAIL, "--episodes", 1, *words).code == 0
        assert server.counts["requests"]["plain"] == 5  # a question, the halves of its text, and the forms


def test_doctor_tries_every_role_of_the_variables(
    simia: Simia, oracle: OracleServer, strict: OracleServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    variables = {"MODEL": "oracle", "BASE_URL": oracle.base_url, "JUDGE_BASE_URL": strict.base_url}
    variables |= {"JUDGE_API_KEY": "sk-of-the-judge-1234", "POLICY_MODEL": "p", "POLICY_BASE_URL": oracle.base_url}
    for name, value in variables.items():
        monkeypatch.setenv(f"SIMIA_{name}", value)
    result, told = simia("doctor", "--json"), simia("doctor")
    models = result.json["models"]
    assert result.code == 1
    assert [model["roles"] for model in models] == [["simulator", "user"], ["judge"], ["policy"]]
    assert [model["found"]["answers"]["status"] for model in models] == ["ok", "error", "ok"]
    assert models[0]["host"] == oracle.base_url.removeprefix("http://").removesuffix("/v1")
    assert list(models[0]["found"]) == ["answers", "model", "prompt", "structured", "seeds", "latency"]
    assert "key is wrong" in models[1]["found"]["answers"]["text"]
    assert "key is wrong" in told.out.split("\n\n")[0]
    assert "sk-of-the-judge-1234" not in result.out + result.err + told.out + told.err


def test_doctor_says_what_a_server_can_do(simia: Simia) -> None:
    both = json.loads(completion("ready")) | {"data": [{"id": "m", "max_model_len": 32768}]}
    with answering(200, json.dumps(both).encode()) as address:
        result = simia("doctor", "--model", "m", "--base-url", f"http://{address}/v1", "--json")
    found = result.json["models"][0]["found"]
    assert (found["context"]["status"], "32,768 tokens" in found["context"]["text"]) == ("ok", True)
    assert (result.code, found["structured"]["status"]) == (1, "error")  # its one word is no JSON


def test_doctor_names_a_server_that_never_answers(simia: Simia) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:  # the kernel accepts connections; nobody reads them
        host = f"127.0.0.1:{server.getsockname()[1]}"
        result = simia("doctor", "--model", "m", "--base-url", f"http://{host}/v1", "--timeout", 0.2, "--json")
    text = result.json["models"][0]["found"]["answers"]["text"]
    assert (result.code, text.partition(". ")[0]) == (1, f"no answer within 0.2 s (m at {host}, 1 try)")
    assert "--timeout" in text


def lines(name: str) -> list[str]:
    return sorted(Path(name).read_text().splitlines())


def test_a_cassette_gives_the_same_bytes(simia: Simia, oracle: OracleServer, at_policy: tuple[str, ...]) -> None:
    """Of every role; `tests/domains` has faults on it."""
    words = [
        "rollout",
        RETAIL,
        "--simulator",
        "llm",
        "--render",
        "model",
        "--user",
        "llm",
        "--judge",
        "llm-all",
        "--model",
        "oracle",
    ]
    words += ["--json", "--episodes", "4", "--group", "2", "--max-turns", "3", *at_policy[:4]]
    place = ("--base-url", oracle.base_url, *at_policy[4:])
    first = simia(*words, *place, "--record-cassette", "c.jsonl", "--out", "a.jsonl")
    assert (first.code, first.json["models"].keys()) == (0, {"simulator", "user", "judge", "policy"})
    again = simia(*words, "--replay-cassette", "c.jsonl", "--out", "b.jsonl")
    assert (again.code, again.json["models"]) == (0, {}), "nobody was asked"
    assert lines("a.jsonl") == lines("b.jsonl")
    assert "127.0.0.1" not in "".join(lines("a.jsonl"))


def test_what_is_not_on_the_cassette_is_a_fault(run: Run, simia: Simia) -> None:
    words = ("--simulator", "llm", "--episodes", 1)
    assert run(*words, "--record-cassette", "c.jsonl").code == 0
    replayed = ("--split", "test", "--model", "oracle", "--replay-cassette", "c.jsonl")
    result = simia("rollout", RETAIL, *words, *replayed, "--json")
    assert (result.code, result.json["fault_kinds"]) == (1, {"simulator:cassette_miss": 1})


def test_cost_is_limited_where_all_prices_are_known(run: Run) -> None:
    words = ("--simulator", "llm", "--judge", "llm", "--episodes", 2, "--max-cost", 1)
    sides = [f"{role}.price_{side}=1" for role in ("simulator", "judge") for side in ("in", "out")]
    prices = [word for side in sides for word in ("--role", side)]
    assert "--role judge.price_in=" in run(*words, *prices[:4]).err
    assert left_behind() == []
    paid = run(*words, *prices)
    assert (paid.code, "$" in paid.err) == (0, True)
    assert paid.json["models"]["simulator"]["cost_usd"] > 0
    dear = run(*words[:-1], 0.001, *prices, out="dear.jsonl")
    assert (dear.code, dear.json["stopped"]) == (1, "budget")


def test_the_budget_holds_for_the_policy(desk: str, simia: Simia, at_policy: tuple[str, ...]) -> None:
    result = simia("rollout", desk, *at_policy, "--max-tokens", 4000, "--concurrency", 1, "--json")
    assert (result.code, result.json["fault_kinds"]) == (1, {"policy:budget": 1})
    assert re.search(r"policy: .*, tokens of \d+ answers? estimated", result.err)


def test_how_the_policy_is_sampled_is_part_of_the_record(desk: str, simia: Simia, at_policy: tuple[str, ...]) -> None:
    words = ("rollout", desk, *at_policy, "--episodes", 1, "--out", "o.jsonl")
    assert simia(*words, "--role", "policy.temperature=0.5", "--role", "policy.retries=1").code == 0
    assert simia("replay", "o.jsonl").code == 0
    assert simia(*words, "--resume", "--role", "policy.temperature=0.5").code == 0
    other = simia(*words, "--resume", "--role", "policy.temperature=1")
    assert (other.code, "policy_hash" in other.err) == (2, True)


def near(expected: float, real: float, factor: float) -> None:
    assert real / factor <= expected <= real * factor


@pytest.mark.parametrize(
    ("env", "words"),
    [
        (RETAIL, "llm --render model"),
        (RETAIL, "llm --render model --group 4"),
        (RETAIL, "llm --strategy reference --judge llm"),
        (RETAIL, "hybrid --route get_order_details=llm"),
        (RETAIL, "llm --render model --user llm --judge llm-all"),
        (RETAIL, "llm --render model --judge llm-all --votes 3"),
        (RETAIL, "llm --render model --policy random"),
        ("simia/webshop-v0", "llm"),
        ("simia/webshop-v0", "llm --strategy reference"),
        ("simia/webshop-v0", "hybrid --route search=llm"),
    ],
)
@pytest.mark.sampled
def test_the_estimate_is_near(env: str, words: str, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    import simia_gym.cli.terminal.playing as module

    found: list[Any] = []

    def kept(*arguments: Any, **options: Any) -> Any:
        found.append(estimate(*arguments, **options))
        return found[-1]

    monkeypatch.setattr(module, "estimate", kept)
    result = run("--simulator", *words.split(), "--episodes", 16, env=env)
    (expected,) = found
    assert str(expected) in result.err
    # What chance does says little about what it does next; and tasks differ in how much a judge is asked.
    more = 1.2 if "random" in words or words.endswith("--judge llm") else 1.0
    for role, spent in result.json["models"].items():
        near(expected.calls[role], spent["calls"], 1.25 * more)
        near(expected.prompt_tokens[role], spent["prompt_tokens"], 1.5 * more)
        # Nobody knows beforehand how much a judge writes; an oracle writes little.
        near(expected.reply_tokens[role], spent["completion_tokens"], 1.5 * more if role == "simulator" else 3)


class Measured:
    """A policy, and the bytes of what another one in its place would be shown before each action."""

    whole_transcript = True

    def __init__(self, policy: Any, episode: Episode) -> None:
        self.policy, self.episode, self.sizes = policy, episode, list[int]()
        self.start = getattr(policy, "start", lambda start: None)

    def act(self, messages: Sequence[Message]) -> Any:
        self.sizes.append(sum(len(encode(dict(message))) for message in self.episode.shown))
        return self.policy.act(messages)


@pytest.mark.parametrize("env", env_ids())
@pytest.mark.parametrize(
    "given", [{}, {"history": "page"}, {"history": "steps", "prompt": "compact"}, {"max_turns": 2}]
)
@pytest.mark.sampled
def test_the_estimate_counts_what_a_policy_is_shown(env: str, given: dict[str, Any]) -> None:
    suite = load_suite(EnvConfig(env, **given))
    sizes: list[int] = []
    for task in suite.tasks[:8]:
        episode = suite.episode()
        policy = Measured(suite.load_policy("expert")(), episode)
        run_sync(play(episode, task, seed=0, policy=policy, env=env), inline=episode.inline)
        sizes += policy.sizes
    expected = estimate(suite, 8, policy=PolicyOptions(model="m", base_url="http://127.0.0.1:9/v1"))
    assert expected is not None
    assert expected.calls["policy"] == len(sizes)
    assert expected.prompt_tokens["policy"] == round(sum(sizes) / 4)


@pytest.mark.parametrize(
    ("priced", "host", "unpriced"),
    [
        ("", "models.example", ("simulator", "user")),
        ("simulator", "models.example", ("user",)),
        ("simulator user", "models.example", ()),
        ("", "127.0.0.1:8000", ()),
        ("", "localhost:8000", ()),
        ("", "[::1]:8000", ()),
    ],
)
def test_prices_that_are_missing_are_asked_for(priced: str, host: str, unpriced: tuple[str, ...]) -> None:
    roles = {role: {"price_in": 1, "price_out": 2} for role in priced.split()}
    config = EnvConfig(RETAIL, simulator="llm", user="llm", model="m", roles=roles)
    expected = estimate(load_suite(config, Resources(base_url=f"http://{host}/v1")), 4)
    assert expected is not None
    assert (expected.unpriced, expected.cost is None) == (unpriced, len(roles) < 2)
    assert ("cost unknown" in str(expected)) is bool(unpriced)


def test_no_estimate_where_the_domain_breaks(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    import simia_gym.evaluation.estimate as module

    def broken(*arguments: object) -> None:
        raise SystemExit(3)

    monkeypatch.setattr(module, "load_suite", broken)
    result = run("--simulator", "llm", "--episodes", 1)
    assert (result.code, "expected calls" in result.err) == (0, False)


@pytest.mark.parametrize("width", [60, 80, 110, 200])
@pytest.mark.parametrize("models", [True, False])
@pytest.mark.parametrize("env", ["simia/webshop-v0", "somebody/a-name-longer-than-that-v0"])
@pytest.mark.sampled
def test_the_progress_line_fits(width: int, models: bool, env: str, desk: str, simia: Simia) -> None:
    simia("rollout", desk, "--out", "r.jsonl")
    record = next(iter(read_records(Path("r.jsonl"))))
    output, file = Output(False), io.StringIO()
    output.console = SafeConsole(width=width, height=24, file=file, force_terminal=True, color_system=None)
    display = Display(output, env, models=models)
    if models:
        accounts().asked("simulator", 1, 1)
        accounts().answered("simulator", Usage(12_345_678, 0, 5), 123.456, 0.1)
        for _ in range(12):
            accounts().failed("simulator", "connection")
    with display.progress(4000):
        for _ in range(3999):
            display.done(record)
    shown = [line for line in file.getvalue().replace("\r", "\n").split("\n") if "success" in line]
    line = shown[-1].rpartition("\x1b[2K")[2]
    assert len(line) <= width
    assert all(text in line for text in ("━", "3999/4000", "success 100%", "0:00:0"))
    assert ("1 call ·" in line and "$123.46 · 12 retries" in line) == (models and width >= 80)
    assert ("…" in line) == (env.startswith("somebody"))


class EmptyAtFirst(MemoryPins):
    """A store that is false while it is empty, as many containers are."""

    def __len__(self) -> int:
        return self.made


@pytest.mark.parametrize("stored", [True, False])
def test_pins_from_python_are_a_switch_or_a_store(stored: bool, oracle: OracleServer) -> None:
    store = EmptyAtFirst()
    place: dict[str, Any] = {"simulator": "llm", "model": "oracle", "base_url": oracle.base_url}
    env: Any = gym.make(RETAIL, **place, pins=store if stored else False)
    for _ in range(2):
        env.reset(seed=1, options={"group": "g"})
        env.step('<tool_call>{"name": "find_user_id_by_email", "arguments": {"email": "a@b.c"}}</tool_call>')
        assert sum(event["type"] == "model" for event in env.unwrapped.episode.ledger.events) == 1
    assert (store.made if stored else 0) == int(stored)
    with pytest.raises(InputError, match="pins is 3"):
        gym.make(RETAIL, **place, pins=3)


def test_the_picture_says_who_played(run: Run) -> None:
    assert run("--simulator", "llm", "--judge", "llm", "--episodes", 1, "--svg", "p.svg").code == 0
    text = Path("p.svg").read_text().replace("&#160;", " ")
    assert "--episodes 1 --simulator llm --judge llm --model oracle" in " ".join(text.split())
