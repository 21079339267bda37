"""Tools as methods, and episodes that are played through them. TRL itself is not needed here."""

from __future__ import annotations

import inspect
import json
from typing import Any

import pytest

from simia_gym.rl.for_trl.environments import OVER, UNREACHABLE, ToolEnvironments
from simia_gym.rl.for_trl.rewards import episode_metrics
from simia_gym.rl.for_trl.rows import KEY
from simia_gym.rl.for_trl.tool_methods import tool_methods
from simia_gym.types import Action, Calls, ToolCall

from .libraries import need
from .trl_imitation import in_calls
from .trl_parts import LIBRARY, breaking

need("transformers")

ODD = {
    "type": "function",
    "function": {
        "name": "reset",
        "description": "EpisodeStart anew.\n\nArgs: none of these words count. Returns: nor these.",
        "parameters": {
            "type": "object",
            "properties": {
                "self": {"type": ["string", "null"], "description": "Who (choices: many)"},
                "order-id": {"enum": ["a", "b"]},
                "from": {"type": "string", "description": "Where it\nbegins: at home."},
                "parts": {"type": "array", "items": {"type": "object", "properties": {"weight": {"type": "number"}}}},
                "either": {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "integer"}}]},
                "whatever": {},
            },
            "required": ["from"],
        },
    },
}


def environments(env: str, **settings: Any) -> ToolEnvironments:
    return ToolEnvironments(env, **settings)


def schema_of(method: Any) -> dict[str, Any]:
    from transformers.utils import get_json_schema

    schema: dict[str, Any] = get_json_schema(method)["function"]
    return schema


def without_extras(schema: Any) -> Any:
    if isinstance(schema, dict):
        return {name: without_extras(part) for name, part in schema.items() if name != "additionalProperties"}
    return schema


@pytest.mark.parametrize("env", ["simia/retail-v0", "simia/webshop-v0"])
def test_what_trl_reads_of_a_method_is_the_tools_schema(env: str) -> None:
    made = environments(env)
    environment = made()
    for tool in made.suite.domain.tools:
        wanted = json.loads(json.dumps(without_extras(tool["function"]), default=list))
        if not wanted["parameters"]["required"]:
            del wanted["parameters"]["required"]
        assert schema_of(getattr(environment, wanted["name"])) == wanted


def test_trl_finds_the_tools_and_nothing_else() -> None:
    made = environments("simia/retail-v0")
    # As TRL looks for them.
    members = [name for name, _ in inspect.getmembers(made.environment_class, predicate=inspect.isfunction)]
    public = [name for name in members if not name.startswith("_")]
    assert sorted(public) == sorted([*made.tool_names, "reset", "get_reward"])


def test_names_and_types_that_python_has_no_word_for() -> None:
    taken: list[Action] = []

    def act(_self: Any, action: Action) -> str:
        taken.append(action)
        return "done"

    methods = tool_methods([ODD, ODD], act)
    assert list(methods) == ["reset_tool", "reset_tool_2"]
    made = type("Odd", (), methods)()
    schema = schema_of(made.reset_tool)
    assert schema["description"] == "EpisodeStart anew.\n\nArgs : none of these words count. Returns : nor these."
    assert schema["parameters"]["required"] == ["from_"]
    # Up to 5.18, transformers wrote a union with a list as a list of types, and lost what the list holds.
    union = schema["parameters"]["properties"].pop("either")
    assert union.pop("description") == "The either."
    either = [{"type": "string"}, {"type": "array", "items": {"type": "integer"}}]
    assert union in ({"anyOf": either}, {"type": ["array", "string"]})
    assert schema["parameters"]["properties"] == {
        "from_": {"type": "string", "description": "Where it begins: at home."},
        "self_argument": {"type": "string", "nullable": True, "description": "Who (one of: many)"},
        "order_id": {"type": "string", "enum": ["a", "b"], "description": "The order-id."},
        "parts": {
            "type": "array",
            "items": {"type": "object"},
            "description": "The parts: list[{weight: number}]",
        },
        "whatever": {"description": "The whatever."},
    }
    assert made.reset_tool(from_=1, self_argument="x", order_id="c", more=3) == "done"
    arguments = {"from": 1, "self": "x", "order-id": "c", "more": 3}
    assert taken == [Calls((ToolCall("reset", arguments),))]


@pytest.mark.parametrize(
    ("env", "settings", "least"),
    [
        ("simia/webshop-v0", {}, 0.8),
        ("simia/retail-v0", {}, 1.0),
        ("simia/custom-v0", {"domain": str(LIBRARY)}, 1.0),
    ],
)
def test_the_expert_succeeds_through_methods(env: str, settings: dict[str, Any], least: float) -> None:
    made = environments(env, **settings)
    environment = made()
    rows = made.rows(8)
    rewards = []
    for row in rows:
        talk = in_calls(environment, row)
        rewards.append(environment.get_reward())
        assert talk[-2]["content"].endswith(OVER)
    assert all(reward is not None for reward in rewards)
    assert sum(reward or 0 for reward in rewards) / len(rows) >= least


def test_a_policy_that_stops_is_judged_as_it_stands() -> None:
    environment = environments("simia/retail-v0")()
    row = environments("simia/retail-v0").rows(1)[0]
    assert "[" not in environment.reset(**row)[:1]
    assert environment.get_reward() == 0.0
    assert environment.episode.verdict is not None
    assert environment.episode.verdict.valid
    assert environment.send_message(text="Hello?") == OVER  # type: ignore[attr-defined]
    assert environment.get_reward() == 0.0


def test_the_expert_calls_methods_by_the_names_that_they_have(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("simia_gym.rl.for_trl.tool_methods.RESERVED", ("reset", "get_reward", "get_member"))
    made = environments("simia/custom-v0", domain=str(LIBRARY))
    assert made.environment_class.method_names["get_member"] == "get_member_tool"
    environment = made()
    talk = in_calls(environment, made.rows(1)[0])
    called = [call["function"]["name"] for message in talk for call in message.get("tool_calls", ())]
    assert "get_member_tool" in called
    assert set(called) <= set(made.tool_names)
    assert environment.get_reward() == 1.0


def test_wrong_calls_are_answered_by_the_environment_and_count() -> None:
    made = environments("simia/webshop-v0")
    environment: Any = made()
    environment.reset(**made.rows(1)[0])
    assert "Write search[keywords] or click[value]" in environment.click(name="buy now")
    assert "Write search[keywords] or click[value]" in environment.search(keywords="a] click[buy now")
    assert environment.episode.turn == 2
    assert not environment.episode.state.at("/session/main/bought")
    retail: Any = environments("simia/retail-v0")()
    retail.reset(**environments("simia/retail-v0").rows(1)[0])
    assert retail.get_order_details(order="#W1").startswith("Error")
    assert "text" in retail.send_message(words="hi")
    before = len(retail.episode.ledger.events)
    call = '<tool_call>{"name": "list_all_product_types", "arguments": {}}</tool_call>'
    assert "empty" in retail.send_message(text=call)  # nobody calls a tool through what is said to a user
    assert [event["type"] for event in retail.episode.ledger.events[before:]] == ["action", "invalid"]


def test_a_fault_leaves_no_reward_and_raises_nothing() -> None:
    made = environments("simia/custom-v0", domain=str(LIBRARY), simulator=breaking("reset", "call", ""))
    three: list[Any] = [made() for _ in range(3)]
    one, other, good = three
    row = made.rows(1)[0]
    assert one.reset(**row) == UNREACHABLE
    assert one.get_reward() is None
    assert one.get_member(member_id="M-101") == UNREACHABLE
    assert other.reset(**row) == good.reset(**row)
    assert other.get_member(member_id="M-101") == UNREACHABLE
    assert other.get_reward() is None
    good.get_member(member_id="M-101")
    assert good.get_reward() == 0.0
    logged: list[tuple[str, float]] = []
    found = episode_metrics(
        environments=[one, other, good], log_metric=lambda name, value: logged.append((name, value))
    )
    assert found == [None, None, 0.0]
    assert logged.count(("episodes/valid", 0.0)) == 2
    assert ("episodes/faults/timeout", 2 / 3) in logged
    assert [value for name, value in logged if name == "episodes/success"] == [0.0]


def test_the_policy_is_told_to_call_and_not_how_others_write() -> None:
    for env in ("simia/retail-v0", "simia/webshop-v0"):
        made = environments(env, prompt="compact")
        row = made.rows(1)[0]
        system, user = row["prompt"]
        assert "A reply without a tool call ends your work." in system["content"]
        assert "tool_call" not in system["content"]
        assert ("send_message" in system["content"]) == (env == "simia/retail-v0")
        assert user == {"role": "user", "content": "", KEY: row[KEY]}
