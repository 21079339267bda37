"""The engine by itself, on a domain of four small tools."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from pathlib import Path
from typing import Any

import pytest

from simia_gym.assembly.settings import EnvConfig
from simia_gym.assembly.suite import Suite, load_suite
from simia_gym.common.event_loop import run_inline, run_sync
from simia_gym.contracts import StepContext
from simia_gym.domain.registration import CUSTOM
from simia_gym.episode import Episode
from simia_gym.errors import EpisodeOver, Fault, InputError, PatchError
from simia_gym.evaluation.checker import check_folder
from simia_gym.record.verdict import from_json, to_json
from simia_gym.types import ToolCall, Transition

from .conftest import call, edit, take


def kinds(episode: Episode) -> list[str]:
    return [event["type"] for event in episode.ledger.events]


def test_an_episode_from_start_to_verdict(episode: Episode) -> None:
    first = take(episode, call("add", name="a", amount=3))
    assert (first.observation, first.reward, first.terminated) == ("3", 0.0, False)
    last = take(episode, call("stop"))
    assert (last.reward, last.terminated, last.truncated) == (1.0, True, False)
    assert last.info["ended"] == "terminal_tool"
    assert last.verdict is not None
    assert [c.id for c in last.verdict.criteria] == ["counted"]
    assert kinds(episode) == ["start", "message", "action", "transition", "action", "transition", "end", "verdict"]
    assert from_json(to_json(last.verdict)) == last.verdict


def test_doing_nothing_fails_and_is_valid(episode: Episode) -> None:
    steps = [take(episode, "") for _ in range(6)]
    assert [s.truncated for s in steps] == [False] * 5 + [True]
    assert steps[-1].verdict is not None
    assert (steps[-1].verdict.valid, steps[-1].verdict.reward) == (True, 0.0)
    assert steps[-1].info["ended"] == "turn_limit"
    assert {s.info["error_code"] for s in steps} == {"empty_action"}


def test_calls_run_in_order_and_stop_at_an_end(episode: Episode) -> None:
    asked, answer = list[str | None](), episode.simulator.call

    async def notice(call: ToolCall, context: StepContext) -> Transition:
        asked.append(call.id)
        return await answer(call, context)

    episode.simulator.call = notice  # type: ignore[method-assign]
    last = take(episode, call("add", name="a", amount=3) + call("stop") + call("add", name="a"))
    assert asked == ["call_1_0", "call_1_1"]
    events = [event for event in episode.ledger.events if event["type"] == "transition"]
    assert [event["call"]["id"] for event in events] == asked
    assert [(m["tool_call_id"], m["content"]) for m in last.messages] == [("call_1_0", "3"), ("call_1_1", "stopped")]
    assert last.reward == 1.0


@pytest.mark.parametrize(
    ("action", "code", "text"),
    [
        (call("fly"), "unknown_tool", "'fly' not found"),
        (call("add"), "invalid_arguments", "name"),
        (call("add", name="a", amount="three"), "invalid_arguments", "amount"),
        (call("add", name="a", colour=1), "invalid_arguments", "colour"),
        (call("add", name="z"), "not_found", "Counter z not found"),
        (call("add", name="a") * 4, "too_many_calls", "3"),
        ("Hello?", "no_user", ""),
    ],
)
def test_refused_calls_change_nothing(episode: Episode, action: str, code: str, text: str) -> None:
    before = episode.state
    result = take(episode, action)
    assert result.info["error_code"] == result.messages[0]["error_code"] == code
    assert result.observation.startswith("Error: ")
    assert text in result.observation
    assert not episode.state.touched_since(before)
    assert not episode.ledger.events[-1].get("ops")


@pytest.mark.parametrize("name", ["crash", "stray", "undeclared"])
def test_a_bug_in_the_world_is_a_fault_and_never_a_zero(episode: Episode, name: str) -> None:
    before = episode.state
    last = take(episode, call(name))
    assert last.truncated
    assert not last.terminated
    assert last.verdict is not None
    assert (last.verdict.valid, last.verdict.reward) == (False, None)
    assert last.verdict.fault is not None
    assert (last.verdict.fault.role, last.verdict.fault.kind) == ("world", "bug")
    assert last.info["reward_valid"] is False
    assert name in last.info["fault"]
    assert not episode.state.touched_since(before)
    with pytest.raises(EpisodeOver):
        take(episode, "")


RULE = "ends:\n  - path: /counters/a/value\n    value: 5\n    reason: full\n"
SET = "ends_on_reply: {}\n"


@pytest.mark.parametrize(
    ("rules", "terminal", "replies"),
    [
        (RULE, True, "error"),
        (RULE, False, "error"),
        ("", True, "error"),
        ("", False, "end"),
        (SET.format("true"), True, "end"),
        (SET.format("false"), False, "error"),
    ],
)
def test_a_reply_without_calls_ends_an_episode_that_nothing_else_ends(
    folder: Path, rules: str, terminal: bool, replies: str
) -> None:
    edit("domain.yaml", RULE, rules)(folder)
    edit("world.py", "terminal=True", f"terminal={terminal}")(folder)
    suite = load_suite(EnvConfig(CUSTOM, domain=folder))
    episode = suite.episode()
    start = run_inline(episode.reset(suite.tasks[0], seed=1))
    take(episode, call("add", name="a", amount=3))
    last = take(episode, "It is 3 now.")
    system = start.messages[0]["content"]
    assert ("is an error" in system, "ends the episode" in system) == (replies == "error", replies == "end")
    assert "sent to the user" not in system
    assert (last.terminated, last.reward, last.info.get("ended")) == (
        (True, 1.0, "agent_end") if replies == "end" else (False, 0.0, None)
    )
    if replies == "end":
        assert episode.ledger.events[-3]["text"] == "It is 3 now."
    warned = any("turn limit" in note for note in check_folder(folder).notes)
    assert warned is (rules == SET.format("false"))


def test_an_explained_error_shows_a_valid_action() -> None:
    suite = load_suite(EnvConfig("simia/retail-v0", feedback="explain"))
    episode = suite.episode()
    run_inline(episode.reset(suite.tasks[0]))
    shown = take(episode, "").observation.split("A valid action, for instance: ")[1]
    assert take(episode, shown).info.get("error_code") in (None, "not_found")


def test_applying_the_recorded_operations_gives_the_same_state(episode: Episode) -> None:
    take(episode, call("add", name="a") + call("add", name="b", amount=2))
    state = episode.initial
    for event in episode.ledger.events:
        state = state.apply(event.get("ops") or ())
    assert state.to_tables() == episode.state.to_tables()


def made(suite: Suite, simulator: Any) -> Episode:
    return Episode(suite.domain, simulator=simulator, user=None, reward=suite.domain.make_reward())


class Part:
    """A simulator, user or reward that gives or raises one thing, after a while if it does I/O."""

    name = "part"

    def __init__(self, answer: Transition | Exception, *, wait: float | None = 0.001, at: str = "call") -> None:
        self.answer, self.wait, self.at, self.io = answer, wait, at, wait is not None

    def begin(self, context: StepContext) -> None:
        pass

    async def open(self, context: StepContext) -> Transition:
        return await self.call() if self.at == "open" else Transition("hello", speaker="env")

    async def call(self, *_: object) -> Transition:
        if self.wait is not None:
            await asyncio.sleep(self.wait)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    reply = score = call


def test_whoever_waits_without_saying_so_is_told() -> None:
    async def waits() -> None:
        await asyncio.sleep(0)

    with pytest.raises(RuntimeError, match="io=True"):
        run_inline(waits())


FAILURES = [
    (Fault("timeout", "no", role="simulator"), "timeout"),
    (ValueError("no"), "bug"),
    (KeyError("x"), "bug"),
    (InputError("no"), "bad_input"),
    (PatchError("no"), "bug"),
]
CASES: list[tuple[str, Any, str]] = [(part, *each) for part in ("simulator", "user", "reward") for each in FAILURES]
CASES.append(("simulator", Transition("gone", ({"op": "remove", "path": "/counters/z"},)), "bad_patch"))


@pytest.mark.parametrize("wait", [None, 0.001], ids=["inline", "waiting"])
@pytest.mark.parametrize(("part", "answer", "kind"), CASES)
def test_a_part_that_fails_is_a_fault_without_a_reward(
    suite: Suite, part: str, answer: Any, kind: str, wait: float | None
) -> None:
    parts: dict[str, Any] = {"simulator": suite.make_simulator(), "user": None, "reward": suite.domain.make_reward()}
    parts[part] = Part(answer, wait=wait)
    episode = Episode(suite.domain, **parts)
    run_sync(episode.reset(suite.tasks[0]), inline=episode.inline)
    action = {"simulator": call("add", name="a"), "user": "hello", "reward": call("stop")}[part]
    last = run_sync(episode.step(action), inline=episode.inline)
    assert last.truncated
    assert last.verdict is not None
    assert (last.verdict.valid, last.verdict.reward) == (False, None)
    assert last.verdict.fault is not None
    assert last.verdict.fault.kind == kind
    assert sorted(kinds(episode)[-3:]) == ["end", "fault", "verdict"]
    assert kinds(episode).count("end") == 1
    with pytest.raises(EpisodeOver):
        run_sync(episode.step(action), inline=episode.inline)


def test_a_first_message_that_cannot_be_had_raises(suite: Suite) -> None:
    episode = made(suite, Part(ValueError("no"), wait=None, at="open"))
    with pytest.raises(Fault, match="ValueError: no"):
        run_inline(episode.reset(suite.tasks[0]))
    with pytest.raises(EpisodeOver):
        run_inline(episode.step("x"))


def test_secrets_reach_no_ledger(suite: Suite, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_API_KEY", "sk-verysecret123456")
    episode = made(suite, Part(ValueError("401 for sk-verysecret123456"), wait=None))
    run_inline(episode.reset(suite.tasks[0]))
    last = run_inline(episode.step(call("add", name="a")))
    assert "[secret]" in last.info["fault"]
    assert "verysecret" not in repr((last, list(episode.ledger.events), episode.verdict))


def test_an_interrupted_step_ends_with_its_call(suite: Suite) -> None:
    episode = made(suite, Part(Transition("late"), wait=3600))
    run_sync(episode.reset(suite.tasks[0]), inline=False)
    timer = threading.Timer(0.2, os.kill, [os.getpid(), signal.SIGINT])
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        run_sync(episode.step(call("add", name="a")), inline=False)
    with pytest.raises(EpisodeOver):
        run_sync(episode.step("x"), inline=False)


def test_reveals_count_as_initial_state(suite: Suite) -> None:
    row = {"op": "add", "path": "/counters/z", "value": {"value": 7}}
    episode = made(suite, Part(Transition("7", (), reveals=(row,))))
    assert not episode.inline
    run_sync(episode.reset(suite.tasks[0]), inline=False)
    assert run_sync(episode.step(call("add", name="z")), inline=False).observation == "7"
    assert episode.state.at("/counters/z/value") == 7
    assert episode.state.touched_since(episode.initial) == []
    assert episode.ledger.events[-1]["reveals"][0]["path"] == "/counters/z"


def test_a_message_acts_as_its_text_does(suite: Suite) -> None:
    texts, messages = suite.episode(), suite.episode()
    for episode in (texts, messages):
        run_inline(episode.reset(suite.tasks[0], seed=1))
    take(texts, '<tool_call>\n{"name": "add", "arguments": {"name": "a", "amount": 3}}\n</tool_call>')
    function = {"name": "add", "arguments": {"name": "a", "amount": 3}}
    run_inline(messages.step({"role": "assistant", "content": None, "tool_calls": [{"function": function}]}))
    take(texts, "")
    run_inline(messages.step({"role": "assistant", "content": ""}))
    assert messages.ledger.events == texts.ledger.events
    assert messages.messages == texts.messages


def test_what_is_neither_text_nor_message_is_refused(episode: Episode) -> None:
    with pytest.raises(InputError, match="a text or an assistant message, not a int"):
        run_inline(episode.step(7))  # type: ignore[arg-type]
    assert (episode.turn, episode.ended) == (0, None)
