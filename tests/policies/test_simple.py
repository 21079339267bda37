"""The policies that ask nobody, and how a policy is found by name."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from simia_gym.actions import get_grammar
from simia_gym.errors import ActionError, InputError
from simia_gym.policies import Policy, PolicyStart, RandomPolicy, load_policy
from simia_gym.types import Calls, JsonObject, Message, Say

from ..actions import WEBSHOP

TOOL: JsonObject = {
    "type": "function",
    "function": {
        "name": "get_order",
        "description": "Look an order up.",
        "parameters": {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]},
    },
}
TALK: list[Message] = [{"role": "system", "content": "..."}, {"role": "user", "content": "Where is #W77?"}]


def start(seed: int = 0, grammar: str = "tools") -> PolicyStart:
    return PolicyStart(env="x", seed=seed, tools=[TOOL], grammar=get_grammar(grammar), samples=("Hello.",))


def act(policy: Policy, messages: list[Message]) -> str:
    text = policy.act(messages)
    assert isinstance(text, str)
    return text


@pytest.mark.parametrize(("name", "word"), [("claimer", "done"), ("refuser", "cannot")])
def test_idle_policies_only_talk(name: str, word: str) -> None:
    text = act(load_policy(name)(), TALK)
    said = get_grammar("tools").parse(text)
    assert isinstance(said, Say)
    assert word in said.text
    with pytest.raises(ActionError):
        get_grammar(WEBSHOP).parse(text)
    assert act(load_policy("null")(), TALK) == ""


EXPERT = """
class Expert:
    def act(self, messages):
        last = messages[-1]["content"]
        said = {"Do": "Shall I cancel it (yes/no)?", "Never": "I'm sorry, I cannot do that."}
        call = '<tool_call>{"name": "get_order", "arguments": {"id": "#W77"}}</tool_call>'
        return said.get(last, call)
"""


def test_spoiled_policy_makes_mistakes_at_a_rate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(EXPERT)

    def say(spec: str, text: str, seed: int = 0) -> str:
        policy = load_policy(spec)()
        policy.start(start(seed))  # type: ignore[attr-defined]
        return act(policy, [*TALK, {"role": "user", "content": text}])

    plain = load_policy("mine.py:Expert")()
    right = {text: act(plain, [{"role": "user", "content": text}]) for text in ("Do", "Never", "Find")}
    assert {text: say("mine.py:Expert:0", text) for text in right} == right
    assert say("mine.py:Expert:1", "Do") == right["Find"]
    assert "done" in say("mine.py:Expert:1", "Never")
    call = get_grammar("tools").parse(say("mine.py:Expert:1", "Find"))
    assert isinstance(call, Calls)
    assert call.calls[0].arguments["id"] in ("#W87", "#W78")
    some = [say("mine.py:Expert:0.5", "Never", seed) for seed in range(40)]
    assert some == [say("mine.py:Expert:0.5", "Never", seed) for seed in range(40)]
    assert 10 < some.count(right["Never"]) < 30
    with pytest.raises(InputError, match="not between 0 and 1"):
        load_policy("mine.py:Expert:1.5")


def test_random_is_seeded_and_restartable() -> None:
    def roll(policy: RandomPolicy, seed: int) -> list[str]:
        policy.start(start(seed))
        return [policy.act(TALK) for _ in range(8)]

    one, other = RandomPolicy(), RandomPolicy()
    first = roll(one, 1)
    assert roll(other, 1) == first
    assert roll(one, 1) == first
    assert roll(one, 2) != first
    for text in first:
        assert isinstance(get_grammar("tools").parse(text), Say | Calls)


def test_random_clicks_what_the_page_lists() -> None:
    line = json.dumps({"has_search_bar": False, "clickables": ["Buy Now"]})
    policy = RandomPolicy()
    policy.start(start(grammar=WEBSHOP))
    talk = [{"role": "user", "content": f"Item\n\nAvailable Actions:\n{line}"}]
    assert {policy.act(talk) for _ in range(40)} == {"click[Buy Now]", "search[item]"}


def test_random_needs_a_start() -> None:
    with pytest.raises(InputError, match="not been started"):
        RandomPolicy().act(TALK)


def test_the_domains_own(tmp_path: Path) -> None:
    (tmp_path / "agents.py").write_text("class Expert:\n    def act(self, messages):\n        return 'expert'\n")
    own = {"expert": "agents.py:Expert", "null": "agents.py:Expert", "lost": "agents.py:Lost"}
    for name in ("expert", "null"):
        assert act(load_policy(name, own, folder=tmp_path)(), TALK) == "expert"
    with pytest.raises(InputError, match=r"policies\.lost: .*has no 'Lost'"):
        load_policy("lost", own, folder=tmp_path)


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("my_agents_b:Dumb", "has no method 'act'"),
        ("my_agents_b:function", "is no class .it is of type function"),
        ("my_agents_b:Greedy", "without arguments.*model"),
    ],
)
def test_mistakes_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spec: str, words: str) -> None:
    (tmp_path / "my_agents_b.py").write_text(
        "class Dumb:\n    pass\ndef function():\n    pass\n"
        "class Greedy:\n    def __init__(self, model):\n        pass\n    def act(self, messages):\n        return ''\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(InputError, match=words):
        load_policy(spec, {"expert": "a:B"})


def test_importing_policies_does_not_import_openai() -> None:
    code = "import sys, simia_gym.policies; sys.exit('openai' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
