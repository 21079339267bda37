"""Rendering rules: observations written from the state after a call."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path
from typing import Any, cast

import pytest

from simia_gym.domain.loading import load_domain
from simia_gym.errors import Fault, InputError, PatchError
from simia_gym.evaluation.slice_check import call_problems, declaration_problems
from simia_gym.simulators.gate import gate
from simia_gym.state import State
from simia_gym.types import Feedback, ToolCall
from simia_gym.views.render import compile_render

from .conftest import edit

STATE = State.from_tables(
    {
        "orders": {"#W1": {"user": "ann", "note": "é", "items": [{"n": 1}, {"n": 2}], "paid": None}},
        "users": {"ann": {"email": "ann@x.org", "orders": ["#W1", "#W2"]}},
        "_user": {"memory": {"secret": "x"}},
    }
)
CALL = ToolCall("t", {"id": "#W1", "list": ["a", 2], "flag": True})


def shout(state: State, call: ToolCall) -> str:
    return str(state.at(f"/orders/{call.arguments['id']}/user")).upper()


def careless(state: State, call: ToolCall) -> str:
    return {"another": "x"}[call.name]


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        ({"row": "/orders/{id}"}, json.dumps(STATE.get("orders", "#W1"))),
        ({"value": "/orders/{id}/user"}, "ann"),
        ({"value": "/orders/{id}/items"}, '[{"n": 1}, {"n": 2}]'),
        ({"value": "/orders/{id}/paid"}, "null"),
        ({"value": "/orders/{id}/note"}, "é"),
        ({"value": "/users/{/orders/{id}/user}/email"}, "ann@x.org"),
        ({"text": "Done."}, "Done."),
        ({"text": "To {/users/{/orders/{id}/user}/email}: {list} {flag}"}, "To ann@x.org: a, 2 true"),
        (f"{__name__}:shout", "ANN"),
    ],
)
def test_rules(rule: Any, text: str) -> None:
    render = compile_render(rule)
    assert render is not None
    assert render(STATE, CALL) == text


@pytest.mark.parametrize(
    "rule",
    [
        {"row": "/orders/{nothing}"},
        {"row": "/orders/#W2"},
        {"value": "/orders/{id}/none"},
        {"value": "/_user/memory/secret"},
        {"text": "{/orders/{id}/none}"},
        {"text": "{nothing}"},
        f"{__name__}:careless",
    ],
)
def test_what_the_state_lacks_is_said(rule: Any) -> None:
    render = compile_render(rule)
    assert render is not None
    with pytest.raises(PatchError):
        render(STATE, CALL)


WRONG: list[Any] = [7, {}, {"line": "x"}, {"row": "/a/b", "text": "c"}, {"row": 1}, {"row": "orders/{id}"}]
WRONG += [
    {"row": "/orders"},
    {"value": "/orders/{id"},
    {"text": "{}"},
    "render",
    "json:nothing_like_it",
    "json:__name__",
]


@pytest.mark.parametrize("rule", WRONG, ids=str)
def test_wrong_rules_are_refused_by_name(rule: Any) -> None:
    with pytest.raises(InputError) as caught:
        compile_render(rule, "tool t")
    assert "tool t, render" in caught.value.where
    assert caught.value.fix


def test_a_row_is_shown_as_it_is_now_to_the_byte() -> None:
    render = compile_render({"row": "/orders/{id}"})
    assert render is not None
    rows: list[dict[str, Any]] = [{"n": n} for n in (1, 1.0, True, "\ud800", "\ufffd", 2**80, 1e22)]
    states = [STATE]
    for row in (*rows, *rows):
        states.append(states[-1].apply([{"op": "replace", "path": "/orders/#W1", "value": row}]))
    shown = [render(state, CALL) for state in states[1:]]
    assert shown == [json.dumps(row) for row in (*rows, *rows)]
    assert [render(state, CALL) for state in reversed(states[1:])] == shown[::-1]


def test_large_rows_are_not_kept_in_memory() -> None:
    render = compile_render({"row": "/orders/{id}"})
    assert render is not None
    rows = [{"text": f"{number:06d}" * 3_000} for number in range(100)]
    states = [STATE.apply([{"op": "replace", "path": "/orders/#W1", "value": row}]) for row in rows]
    tracemalloc.start()
    try:
        for state, row in zip(states, rows, strict=True):
            assert render(state, CALL) == json.dumps(row)
        assert tracemalloc.get_traced_memory()[0] < 10 * 18_000
    finally:
        tracemalloc.stop()


PAGES = '''
    @tool(effect="write", reads=("counters",), writes=("counters/*/value",), render="world.py:page", render_errors=True)
    def press(self, db: Draft, name: str) -> None:
        """Press a button.

        Args:
            name: Its name.
        """
        if not db.has("counters", name):
            raise ToolError(f"There is no {name}", "not_found", "Only a and b can be pressed.")
        db.edit("counters", name)["value"] += 1

    def info(self, state):
        return {"buttons": ["a", "b"]}


def page(state, call):
    return "; ".join(f"{name}: {row['value']}" for name, row in state.rows("counters"))
'''


def test_a_tool_that_returns_nothing_shows_what_the_rule_writes(folder: Path) -> None:
    source = (folder / "world.py").read_text()
    head, body = source.split("class Counter(World):\n")
    (folder / "world.py").write_text(f"{head}class Counter(World):\n{PAGES}\n\nclass Old(World):\n{body}")
    domain = load_domain(folder)
    assert domain.world is not None
    pressed = domain.world.call(domain.base, ToolCall("press", {"name": "b"}))
    assert (pressed.observation, pressed.info) == ("a: 0; b: 1", {"buttons": ["a", "b"]})
    assert not dict(declaration_problems(domain))
    assert not call_problems(domain, domain.base, ToolCall("press", {"name": "b"}))[1]
    for arguments, code in (({"name": "c"}, "not_found"), ({}, "invalid_arguments")):
        for feedback, shown in (("terse", "a: 0; b: 0"), ("explain", " Why: ")):
            failed = domain.world.call(domain.base, ToolCall("press", arguments), cast(Feedback, feedback))
            assert shown in failed.observation
            assert (failed.observation.endswith("a: 0; b: 0"), failed.error_code) == (True, code)
            refused = gate(domain, domain.base, ToolCall("press", arguments), cast(Feedback, feedback))
            if refused is not None:  # what code refuses before a model is asked
                assert (refused.observation, refused.info) == (failed.observation, {"buttons": ["a", "b"]})


def test_a_rule_that_cannot_show_a_worlds_state_is_a_bug(folder: Path) -> None:
    edit("world.py", '@tool(effect="none", terminal=True)', '@tool(render={"row": "/counters/none"})')(folder)
    edit("world.py", 'return "stopped"', "pass")(folder)
    domain = load_domain(folder)
    assert domain.world is not None
    with pytest.raises(Fault, match="render of stop"):
        domain.world.call(domain.base, ToolCall("stop", {}))
