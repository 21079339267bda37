"""A person plays in a terminal."""

from __future__ import annotations

import io
import json
import os
import pty
import select
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from simia_gym import read_records
from simia_gym.actions import get_grammar
from simia_gym.types import Calls

from ..sandbox.conftest import needs_sandbox
from .conftest import PROGRAM, Result, Simia

Typing = Callable[..., Result]
_PATIENCE = 60.0


@pytest.fixture
def typing(simia: Simia, monkeypatch: pytest.MonkeyPatch) -> Typing:
    """Run a rollout of the policy human into h.jsonl, with lines that are typed."""

    def call(lines: str, *words: object) -> Result:
        monkeypatch.setattr("sys.stdin", io.StringIO(lines))
        return simia("rollout", *words, "--policy", "human", "--out", "h.jsonl")

    return call


def as_pairs(action: str) -> str:
    """A call as people type it: ``name key=value ...``; a message as it is, in a block if it has several lines."""
    read = get_grammar("tools").parse(action)
    if isinstance(read, Calls):
        (call,) = read.calls
        return " ".join((call.name, *(f"{key}={json.dumps(value)}" for key, value in call.arguments.items())))
    return as_block(action) if "\n" in action else action


def as_block(action: str) -> str:
    return f'"""\n{action}\n"""'


def as_json(action: str) -> str:
    """A call of the grammar webshop as one of JSON."""
    name, _, value = action.rpartition("\n")[2].removesuffix("]").partition("[")
    return json.dumps({"name": name, "arguments": {"keywords" if name == "search" else "value": value}})


@pytest.mark.parametrize(
    ("env", "task", "typed"),
    [
        ("retail", "retail-test-001", as_pairs),
        ("webshop", "webshop-test-000", str),
        ("webshop", "webshop-test-002", as_json),
        pytest.param("os", "os-test-000", as_block, marks=needs_sandbox),
        pytest.param("os", "os-test-001", lambda action: f"{action}\n", marks=needs_sandbox),
        ("mind2web", "mind2web-test-000", lambda action: f"{action}\n"),
        ("officebench", "officebench-test-000", str),
    ],
    ids=lambda value: value if isinstance(value, str) else getattr(value, "__name__", ""),
)
@pytest.mark.sampled
def test_the_experts_actions_earn_the_reward(
    env: str, task: str, typed: Callable[[str], str], simia: Simia, typing: Typing
) -> None:
    where = (env, "--split", "test", "--task", task)
    assert simia("rollout", *where, "--out", "expert.jsonl").code == 0
    (expert,) = read_records("expert.jsonl")
    result = typing("".join(f"{typed(action)}\n" for action in expert.actions), *where)
    assert result.code == 0, result.err
    (played,) = read_records("h.jsonl")
    assert (played.reward, played.policy) == (1, "human")
    assert [event["call"] for event in played.events if event["type"] == "transition"] == [
        event["call"] for event in expert.events if event["type"] == "transition"
    ]
    shown = "".join((result.err + result.out).split())
    for event in played.events:
        for text in (event.get("observation"), event.get("text") if event["type"] == "message" else None):
            assert "".join((text or "").split()) in shown
    assert "ended by" in result.out
    assert "reward 1" in result.out


MISTAKES = """\
get_order_detials order_id=1
get_order_details order=1
get_order_details W1
get_order_details
{"name": "get_order_details"
{"name": "fetch", "arguments": {}}
? fetch
?
? calculate
? system
calculate expression=2 * (3 + 4)
return_delivered_order_items order_id='#W1' item_ids=1, 2 payment_method_id="gift card"
say get_order_details
"""


def test_a_typing_mistake_is_told_and_is_no_action(typing: Typing) -> None:
    result = typing(MISTAKES, "retail", "--task", "retail-train-001", "--max-turns", 3)
    (played,) = read_records("h.jsonl")
    assert played.turns == 3
    calls = [event["call"] for event in played.events if event.get("call")]
    assert [(call["name"], call["arguments"]) for call in calls] == [
        ("calculate", {"expression": "2 * (3 + 4)"}),
        (
            "return_delivered_order_items",
            {"order_id": "#W1", "item_ids": ["1", "2"], "payment_method_id": "gift card"},
        ),
    ]
    assert [event["say"] for event in played.events if event.get("say")] == ["get_order_details"]
    assert result.err.count("not done: ") == 7
    for told in (
        "Did you mean 'get_order_details'?",
        "'order_id' is a required property",
        "Write get_order_details order_id=...",
        "there is no tool 'fetch'",
        "calculate(expression: string)",
        played.content("system")[:300],
    ):
        assert "".join(told.split()) in "".join(result.err.split())


def test_in_a_grammar_of_several_lines_an_empty_one_ends_an_action(typing: Typing) -> None:
    lines = "Answer: B.\n\nAction: NOTHING\n\n\nAnswer: A.\nAction: DONE\n\n"
    result = typing(lines, "mind2web", "--task", "mind2web-train-000")
    (played,) = read_records("h.jsonl")
    assert (result.code, played.actions, played.reward) == (0, ["Answer: A.\nAction: DONE"], 0)
    assert result.err.count("not done: ") == 1


@pytest.mark.parametrize("end", ["", "quit\n"], ids=["end of input", "quit"])
def test_who_quits_has_cancelled_the_run(end: str, typing: Typing, simia: Simia) -> None:
    result = typing(f"search[lamp]\n{end}", "webshop", "--episodes", 2)
    assert (result.code, Path("h.jsonl").read_bytes()) == (130, b"")
    assert "interrupted: 0 of 2 episodes are saved in h.jsonl" in result.out
    assert "Traceback" not in result.err


def test_one_person_plays_one_episode_in_one_process(typing: Typing) -> None:
    for option, what in ((("--ray",), "--ray"), (("--concurrency", 3), "--concurrency")):
        result = typing("", "webshop", *option)
        assert (result.code, what in result.err) == (2, True)


class Terminal:
    """A rollout of webshop that a person plays in a pseudo-terminal."""

    def __init__(self, folder: Path) -> None:
        self.master, slave = pty.openpty()
        words = ["rollout", "webshop", "--split", "test", "--task", "webshop-test-000", "--policy", "human"]
        self.process = subprocess.Popen(
            [*PROGRAM, *words, "--out", "h.jsonl"],
            cwd=folder,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env={**os.environ, "TERM": "dumb", "NO_COLOR": "1"},
            start_new_session=True,
        )
        os.close(slave)
        self.shown = ""

    def read_until(self, text: str) -> None:
        """Wait for what the terminal shows next."""
        until = time.monotonic() + _PATIENCE
        while text not in self.shown and select.select([self.master], [], [], max(0, until - time.monotonic()))[0]:
            self.shown += os.read(self.master, 65_536).decode(errors="replace")
        before, found, self.shown = self.shown.partition(text)
        assert found, before

    def type(self, text: str) -> None:
        """Type at the prompt."""
        self.read_until("> ")
        os.write(self.master, text.encode())

    def wait_until_it_waits(self) -> None:
        """Wait until the program sleeps, as Linux sees it."""
        until = time.monotonic() + _PATIENCE
        stat = Path(f"/proc/{self.process.pid}/stat")
        while stat.exists() and stat.read_text().rpartition(")")[2].split()[0] != "S" and time.monotonic() < until:
            time.sleep(0.01)

    def close(self) -> int:
        code = self.process.wait(_PATIENCE)
        os.close(self.master)
        return code


def test_in_a_real_terminal(tmp_path: Path) -> None:
    terminal = Terminal(tmp_path)
    gold = "daltavi halcyon mummy sleeping bag, two way zipper, down filled, for sleepovers"
    for line in (f"search keywords={gold}", "click[b0s1r05lqd]", "click[buy now]"):
        terminal.type(f"{line}\n")
    terminal.read_until("reward 1")
    assert terminal.close() == 0


@pytest.mark.slow
@pytest.mark.parametrize("way", ["Ctrl-D", "Ctrl-C"])
def test_a_terminal_is_left_at_once(way: str, tmp_path: Path) -> None:
    terminal = Terminal(tmp_path)
    terminal.type("search[lamp]\n")
    terminal.read_until("Available Actions")
    terminal.read_until("> ")
    if way == "Ctrl-D":
        os.write(terminal.master, b"\x04")
    else:
        terminal.wait_until_it_waits()  # readline notices no signal between showing the prompt and waiting for a key
        terminal.process.send_signal(signal.SIGINT)
    terminal.read_until("interrupted; continue with")
    assert terminal.close() == 130
