"""Tools are sent once: a provider that gets them beside the messages finds no word of them in there."""

from __future__ import annotations

import asyncio
import json
import pickle
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from simia_gym import EnvConfig, PolicyStart, evaluate, read_records, transcript
from simia_gym.assembly.suite import load_suite
from simia_gym.domain.registration import CUSTOM, env_ids
from simia_gym.evaluation.estimate import estimate
from simia_gym.policies import PolicyOptions
from simia_gym.policies.llm import LLMPolicy
from simia_gym.record.records import Record
from simia_gym.rl.sft.files import recorded_trajectories
from simia_gym.rollout.play import play
from simia_gym.rollout.preflight import look_at_models
from simia_gym.rollout.replay import replay_file
from simia_gym.types import Calls, Message

from .. import domains
from ..llm.server import SECRET
from ..model_server import Answer, Asked, ModelServer, completion, serving
from ..rollout.conftest import Roll
from ..sweeps import sweep

PROMPTS = ("full", "compact")
FORMAT = ("<tool_call>", "<tools>", "<answer>", "search[", "click[", "(email: string)")
"""What only the format of calls in a text has."""


def options(server: ModelServer, **changes: Any) -> PolicyOptions:
    return PolicyOptions(model="m", base_url=server.url, api_key=SECRET, native_tools=True, retries=0, **changes)


def player(kind: str, server: ModelServer) -> Any:
    """The policy ``llm`` with native tools, or a function of one's own that sends what it is given."""
    if kind == "llm":
        return LLMPolicy(options(server))

    async def own(messages: Any, tools: Any) -> Any:
        body, url = {"messages": messages, "tools": tools}, f"{server.url}/chat/completions"
        async with aiohttp.ClientSession() as session, session.post(url, json=body) as got:
            return (await got.json())["choices"][0]["message"]

    return own


def at_once(env: str) -> int:
    """How many calls a reply of the server has."""
    return 2 if load_suite(EnvConfig(env)).domain.config.parallel_tool_calls == "allow" else 1


def calls_first(env: str) -> Answer:
    """Two turns with calls of the first tool, then a text."""

    def answer(asked: Asked) -> Any:
        said = [message for message in asked.messages if message["role"] == "assistant"]
        name, parameters = (asked.body["tools"][0]["function"][key] for key in ("name", "parameters"))
        arguments = json.dumps(dict.fromkeys(parameters["required"], "red lamp"))
        calls = [
            {"id": f"c{len(said)}{number}", "type": "function", "function": {"name": name, "arguments": arguments}}
            for number in range(at_once(env))
        ]
        return completion("Let me look.", tool_calls=calls) if len(said) < 2 else "Sorry, I cannot."

    return answer


def descriptions(node: Any) -> Iterator[str]:
    """Every text of a schema that explains something, as it stands in JSON."""
    for key, value in node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ():
        if key == "description" and isinstance(value, str):
            yield json.dumps(value, ensure_ascii=False)[1:-1]
        else:
            yield from descriptions(value)


@pytest.mark.parametrize("kind", sweep(["llm", "function"], 1))
@pytest.mark.parametrize("prompt", PROMPTS)
@pytest.mark.parametrize("env", env_ids())
@pytest.mark.slow
async def test_tools_are_sent_once(env: str, prompt: Any, kind: str, tmp_path: Path) -> None:
    suite = load_suite(EnvConfig(env, prompt=prompt))
    texts = {text for tool in suite.domain.tools for text in descriptions(tool["function"])}
    assert len(texts) >= 4
    path = tmp_path / "r.jsonl"
    async with serving(calls_first(env)) as server:
        settings: dict[str, Any] = {"max_turns": 3, "prompt": prompt, "split": "test", "history": "transcript"}
        report = await asyncio.to_thread(evaluate, env, player(kind, server), out=path, concurrency=2, **settings)
    assert report["series"][0]["invalid"] == 0
    answers = ["tool"] * at_once(env)
    for asked in server.asked:
        tools = asked.body["tools"]
        assert [tool["function"]["name"] for tool in tools] == [*suite.domain.specs]
        system = asked.contents[0]
        assert system.startswith(suite.domain.prompts[prompt][:500])
        assert not [sign for sign in FORMAT if sign in system]
        written = [*descriptions(tools)]
        assert {text: (text in written, text in system) for text in texts} == dict.fromkeys(texts, (True, False))
        roles = [message["role"] for message in asked.messages]
        turns = roles.count("assistant")
        assert roles == ["system", "user", *["assistant", *answers] * turns]
        ids = [[call["id"] for call in message.get("tool_calls", ())] for message in asked.body["messages"]]
        answered = [message["tool_call_id"] for message in asked.messages if message["role"] == "tool"]
        assert [one for each in ids for one in each] == answered
        assert all(message["content"] == "Let me look." for message in asked.messages if message["role"] == "assistant")
    assert max(len(asked.messages) for asked in server.asked) == 4 + 2 * len(answers)
    first = next(iter(read_records(path)))
    seen = [dict(message) for message in transcript(first)]
    assert seen[0]["content"] == server.asked[0].contents[0]
    roles = ["system", "user", *["assistant", *answers] * 2]
    assert [message["role"] for message in seen][: len(roles)] == roles
    assert len(seen[2]["tool_calls"]) == len(answers)
    assert {proof.reason for proof in replay_file(path)} == {""}


def broken_first(env: str) -> Answer:
    """A reply with more calls than may be, one with a call that cannot be read, then a call as text."""
    domain = load_suite(EnvConfig(env)).domain
    text = next(sample for sample in domain.samples if isinstance(domain.grammar.parse(sample), Calls))

    def answer(asked: Asked) -> Any:
        turn = sum(message["role"] == "assistant" for message in asked.messages)
        if turn > 1:
            return text
        function = {"name": asked.body["tools"][0]["function"]["name"], "arguments": "{}" if turn == 0 else '{"a'}
        many = range(40 if turn == 0 else 1)
        return completion(None, tool_calls=[{"id": f"c{i}", "type": "function", "function": function} for i in many])

    return answer


async def as_text(env: str, record: Record, turns: int) -> list[Message]:
    """What a policy that reads the tools is shown of the same actions."""
    texts: list[str] = [event["text"] for event in record.events if event["type"] == "action"]

    class Again:
        def act(self, messages: Any) -> str:
            return texts.pop(0)

    suite = load_suite(EnvConfig(env, split="train", max_turns=turns, history="transcript"))
    episode = suite.episode()
    await play(episode, suite.task(record.task), seed=record.seed, policy=Again())
    return episode.messages


@pytest.mark.parametrize("says", sweep([calls_first, broken_first], 1))
@pytest.mark.parametrize("env", env_ids())
@pytest.mark.sampled
async def test_a_row_for_training_is_that_of_a_policy_that_reads_the_tools(
    env: str, says: Callable[[str], Answer], tmp_path: Path
) -> None:
    path = tmp_path / "r.jsonl"
    async with serving(says(env)) as server:
        settings: dict[str, Any] = {"max_turns": 3, "split": "train", "history": "transcript"}
        await asyncio.to_thread(evaluate, env, player("llm", server), out=path, concurrency=1, **settings)
    record = next(iter(read_records(path)))
    (row, *_) = (item for item in recorded_trajectories(path) if item is not None)
    plain = await as_text(env, record, 3)
    assert row.messages[0] == {"role": "system", "content": load_suite(EnvConfig(env)).domain.prompts["full"]}
    assert [message["role"] for message in row.messages] == [message["role"] for message in plain]
    heard, given = ([each["content"] for each in one if each["role"] != "assistant"] for one in (row.messages, plain))
    assert heard == given


@pytest.mark.parametrize("kind", sweep(["llm", "function"], 1))
@pytest.mark.parametrize("env", env_ids())
@pytest.mark.sampled
async def test_a_call_that_is_refused_or_written_as_text_is_in_the_conversation_like_any_other(
    env: str, kind: str, tmp_path: Path
) -> None:
    path = tmp_path / "r.jsonl"
    async with serving(broken_first(env)) as server:
        settings: dict[str, Any] = {"max_turns": 4, "split": "test", "history": "transcript"}
        report = await asyncio.to_thread(evaluate, env, player(kind, server), out=path, concurrency=1, **settings)
    assert report["series"][0]["invalid"] == 0
    longest = max(server.asked, key=lambda asked: len(asked.messages))
    turns = ["system", "user", "assistant", *["tool"] * 40, "assistant", "tool", "assistant", "tool"]
    assert [message["role"] for message in longest.messages] == turns
    assert [message["role"] for message in transcript(next(iter(read_records(path))))][: len(turns)] == turns
    assert {proof.reason for proof in replay_file(path)} == {""}


async def test_a_rollout_of_the_policy_llm_sends_them_once_too(tmp_path: Path) -> None:
    suite = load_suite(EnvConfig("simia/webshop-v0", max_turns=3))
    async with serving(calls_first("simia/webshop-v0")) as server:
        roll = Roll(suite, tmp_path / "r.jsonl")
        policies = pickle.loads(pickle.dumps(suite.load_policy("llm", options(server))))
        await asyncio.to_thread(roll, policies, episodes=2)
    assert [asked.contents[0] for asked in server.asked] == [suite.domain.native_prompts["full"]] * 6
    assert all(asked.body["tools"] for asked in server.asked)
    assert all(proof.proven for proof in replay_file(roll.path))


@pytest.mark.parametrize("prompt", PROMPTS)
@pytest.mark.parametrize("env", env_ids())
async def test_the_next_reset_decides(env: str, prompt: Any) -> None:
    suite = load_suite(EnvConfig(env, prompt=prompt))
    episode = suite.episode()
    for native in (True, False, True):
        episode.native_tools = native
        start = await episode.reset(suite.tasks[0], seed=1)
        prompts = episode.domain.native_prompts if native else episode.domain.prompts
        assert start.messages[0]["content"] == episode.shown[0]["content"] == prompts[prompt]
        content = episode.ledger.events[0]["content"]
        assert content["system"] == episode.domain.blobs[prompt][0]
        assert ("native_system" in content) is native


KEPT = {
    "simia/retail-v0": "sent to the user as it stands. One reply may hold several tool calls; they run in their order.",
    "simia/airline-v0": "in separate replies. The answers of the tools come back to you, not to the user.",
    "simia/webshop-v0": "Put one tool call into a reply, never more. Text next to a tool call is read by nobody.",
}


@pytest.mark.parametrize("env", KEPT)
def test_what_no_schema_says_stays(env: str) -> None:
    prompts = load_suite(EnvConfig(env)).domain.native_prompts
    assert [KEPT[env] in prompts[prompt] for prompt in PROMPTS] == [True, True]


@pytest.mark.parametrize(("grammar", "native"), [("tools", True), ("act", False)])
def test_a_policy_class_says_it_and_a_grammar_with_an_end_of_its_own_keeps_its_text(grammar: str, native: bool) -> None:
    seen: list[tuple[bool, str]] = []

    class Own:
        native_tools = True

        def start(self, start: PolicyStart) -> None:
            self.native = start.native_tools

        def act(self, messages: Any) -> str:
            seen.append((self.native, messages[0]["content"]))
            return "Act: finish"

    folder = str(Path(domains.__file__).parent / "fixtures" / "files")
    domain = load_suite(EnvConfig(CUSTOM, domain=folder, grammar=grammar)).domain
    evaluate(CUSTOM, Own, domain=folder, grammar=grammar, max_turns=1)
    shown = domain.native_prompts["full"] if native else domain.prompts["full"]
    assert seen[0] == (native, shown)
    assert ("Act: bash" in shown, "<tool_call>" in shown) == (not native, False)


async def test_what_is_expected_and_tried_before_a_run_has_the_tools_once() -> None:
    expected = dict[tuple[str, bool], int]()
    async with serving(lambda asked: "Yes.") as server:
        for prompt in ("full", "compact"):
            suite = load_suite(EnvConfig("simia/retail-v0", prompt=prompt))
            for native in (True, False):
                given = replace(options(server), native_tools=native)
                server.asked.clear()
                await asyncio.to_thread(look_at_models, suite, {"policy": (given, given.endpoint())})
                (tried,) = (asked for asked in server.asked if len(asked.text) > 4000)
                assert tried.contents[0].count("<tool_call>") == (0 if native else 2)
                described = len([*descriptions([tool["function"] for tool in suite.domain.tools])])
                assert described > 40
                expects = 0 if (native, prompt) == (False, "compact") else described
                assert tried.contents[0].count('"description"') == expects
                found = estimate(suite, 2, policy=given)
                assert found is not None
                expected[prompt, native] = found.prompt_tokens["policy"] // found.calls["policy"]
    assert expected["full", True] < expected["full", False] - 300
    assert expected["compact", True] > expected["compact", False] + 1500
