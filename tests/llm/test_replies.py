"""Replies as models write them: read where they have one sound reading, asked again with the complaint where not."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from simia_gym.actions.strict_json import JsonProblem
from simia_gym.errors import Role
from simia_gym.llm.blocks import read_blocks
from simia_gym.llm.structured import Form
from simia_gym.llm.tolerant.repair import repaired
from simia_gym.llm.tolerant.shape import NoReading, Shape, fold
from simia_gym.llm.transport.failures import Failure
from simia_gym.llm.types import Habits, ReplySchema
from simia_gym.users.llm import REPLY as CUSTOMER

from ..actions import JSON
from ..model_server import Asked
from .habits import ROLES, Habit, Outcome, play, read_habits

HABITS = [habit for role in ROLES for habit in read_habits(role)]
READ = [habit for habit in HABITS if habit.sound and not habit.unread]
REST = [habit for habit in HABITS if not habit.sound or habit.unread]


def unread(outcome: Outcome) -> list[Any]:
    return [event for event in outcome.ledger.events if event["type"] == "unread"]


def tries(outcome: Outcome, habit: Habit) -> list[Asked]:
    """The requests for the reply in question; a customer has begun before."""
    return outcome.asked[1:] if habit.role == "user" else outcome.asked


@pytest.mark.parametrize("habit", READ, ids=str)
async def test_a_reply_with_one_reading_is_read_at_once(habit: Habit, tmp_path: Path) -> None:
    always = await play(habit, tmp_path)
    assert always.fault is None, always.fault
    assert always.value == habit.reading
    assert len(tries(always, habit)) == 1
    event = next(event for event in reversed(always.ledger.events) if event["type"] == "model")
    if habit.name in ("bare", "indented", "fence", "words before", "thinking before"):  # nothing is put right
        assert "read" not in event


@pytest.mark.parametrize("habit", REST, ids=str)
async def test_what_has_no_reading_or_several_is_asked_again_and_then_a_fault(habit: Habit, tmp_path: Path) -> None:
    always = await play(habit, tmp_path)
    assert always.fault is not None
    assert always.fault.role == habit.role
    assert not [event for event in always.ledger.events if event["type"] == "transition"]


@pytest.mark.parametrize("habit", REST, ids=str)
async def test_said_once_it_is_put_right_after_the_complaint(habit: Habit, tmp_path: Path) -> None:
    once = await play(habit, tmp_path, once=True)
    assert once.fault is None, once.fault
    assert once.value == habit.good
    first, second = tries(once, habit)
    assert [message["role"] for message in second.messages[-2:]] == ["assistant", "user"]
    assert second.messages[:-2] == first.messages
    assert second.value("violations")
    assert second.body["seed"] != first.body["seed"]


@pytest.mark.parametrize("role", ROLES)
def test_the_table_is_large_and_nearly_all_that_has_a_reading_is_read(role: Role) -> None:
    mine = [habit for habit in HABITS if habit.role == role]
    sound = [habit for habit in mine if habit.sound]
    assert len(mine) >= 120
    assert len({habit.name for habit in mine}) == len(mine)
    assert sum(not habit.unread for habit in sound) >= 0.9 * len(sound)
    assert Counter(str(habit.reading) for habit in mine)["cut"] >= 10


@pytest.mark.parametrize("habit", [habit for habit in HABITS if habit.reading == "cut"], ids=str)
async def test_nothing_that_was_left_open_is_closed(habit: Habit, tmp_path: Path) -> None:
    always = await play(habit, tmp_path)
    (first, *_) = unread(always)
    assert first["reply"] == (habit.message["content"] or habit.message["tool_calls"][0]["function"]["arguments"])
    assert "cut off" in first["problem"] or "thinking" in first["problem"]
    assert always.fault is not None
    assert always.fault.kind == "bad_reply"


@pytest.mark.parametrize("habit", [habit for habit in READ if habit.name in ("bare", "single quotes")], ids=str)
async def test_strict_reading_puts_nothing_right(habit: Habit, tmp_path: Path) -> None:
    always = await play(habit, tmp_path, read="strict")
    assert (always.fault is None) is (habit.name == "bare")
    assert [event["problem"] for event in unread(always)] == [] if habit.name == "bare" else unread(always)


def named(role: str, name: str) -> Habit:
    return next(habit for habit in HABITS if (habit.role, habit.name) == (role, name))


@pytest.mark.parametrize(
    ("role", "name", "kinds"),
    [
        ("simulator", "single quotes, comment, trailing comma", ["syntax"]),
        ("simulator", "in a tool call, wrapped", ["tool_calls", "wrapper"]),
        ("simulator", "in reasoning_content", ["reasoning", "thinking"]),
        ("simulator", "content is the object", ["decoded"]),
        ("simulator", "outcome 'SUCCESS'", ["synonym"]),
        ("simulator", "outcome 'Ok'", ["case"]),
        ("simulator", "reveals null", ["list"]),
        ("simulator", "no error_code", ["missing"]),
        ("simulator", "error_code 'null'", ["null"]),
        ("simulator", "path 'books/b1/title'", ["path"]),
        ("simulator", "observation an object", ["json_text"]),
        ("user", "both as texts", ["text"]),
        ("user", "a feeling as well", ["extra"]),
        ("user", "draft, then a correction", ["draft", "several"]),
        ("user", "text for message", ["name"]),
        ("judge", "quote with capitals", ["quote"]),
        ("judge", "event a text", ["text"]),
    ],
)
async def test_what_was_put_right_stands_in_the_record(role: str, name: str, kinds: list[str], tmp_path: Path) -> None:
    outcome = await play(named(role, name), tmp_path)
    event = next(event for event in reversed(outcome.ledger.events) if event["type"] == "model")
    assert event["read"] == kinds


async def test_a_complaint_shows_what_was_said_as_data(tmp_path: Path) -> None:
    habit = named("simulator", "a final one that is broken")
    outcome = await play(habit, tmp_path)
    assert len(outcome.asked) == 3
    (said,) = read_blocks(outcome.asked[1].messages[-2]["content"])
    assert (said.kind, said.value) == ("answer", habit.message["content"])
    assert outcome.asked[2].messages[:-2] == outcome.asked[0].messages
    problems = [event["problem"] for event in unread(outcome)]
    assert [asked.value("violations") for asked in outcome.asked[1:]] == [[problem] for problem in problems[:2]]


async def test_the_number_of_repairs_can_be_set(tmp_path: Path) -> None:
    habit = named("user", "words alone")
    for repairs in (0, 1, 2):
        outcome = await play(habit, tmp_path, repairs=repairs)
        assert len(tries(outcome, habit)) == repairs + 1 == len(unread(outcome))


# ---- the syntax


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.dictionaries(st.text(), JSON, max_size=4), st.integers(min_value=1, max_value=60))
@example({"a": 'x"'}, 1)
@example({"a": "}"}, 1)
@example({"a": "'", "b": []}, 2)
@pytest.mark.slow
def test_no_beginning_of_an_object_is_an_object(value: dict[str, Any], cut: int) -> None:
    for written in (json.dumps(value, ensure_ascii=False), repr(value)):
        with pytest.raises(JsonProblem):
            repaired(written[: max(1, len(written) - cut)] if len(written) > 1 else "{")


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.dictionaries(st.text(), JSON, max_size=4))
@example({"a": "// no", "b": "# no", "c": "/* no */"})
@example({"a": "it's", "b": 'say "x"', "c": "C:\\new", "d": "\n\t", "e": "é\U0001f600"})
@pytest.mark.slow
def test_a_repair_is_what_was_written_or_nothing(value: dict[str, Any]) -> None:
    for written in (json.dumps(value, ensure_ascii=False), json.dumps(value), repr(value)):
        for text in (written, f"{written[:-1]},}}" if value else written, f"// it is\n{written}"):
            try:
                found = repaired(text)
            except JsonProblem:
                continue
            assert found == value


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.text(alphabet="{}[]\"',:ab1 \n\\/#*“”tn"))
@example('{"a": "x" + "y"}')
@example('{"a": 1, "a": 2}')
@example('{"a": "{"x": "y", "z": 1}"}')
@example('{"message": "Say "no", "stop": false}')
@example("'“'")
@example("{'a': 'b\\n'}")
def test_a_repair_makes_up_nothing(text: str) -> None:
    try:
        found = repaired(text)
    except JsonProblem:
        return
    written = re.sub(r"\\(?:u.{4}|.)", "", json.dumps(found, ensure_ascii=False))  # the letters of an escape are none
    made_up = Counter(written) - Counter(text)
    assert not [char for char in made_up if char.isalnum() or char in "{}[]"]


@pytest.mark.parametrize(
    "text",
    ['{"a": "x" + "y"}', '{"a": 1, "a": 2,}', '{"a": NaN,}', "{'a': 1e999}", '{"a": "{"x": "y", "z": 1}"}', "{" * 5000],
)
def test_what_may_mean_something_else_is_not_repaired(text: str) -> None:
    with pytest.raises(JsonProblem):
        repaired(text)


# ---- the form

BRANCHES = {
    "anyOf": [
        {
            "type": "object",
            "properties": {
                "outcome": {"const": "ok"},
                "error_code": {"type": "null"},
                "ops": {"type": "array", "items": {"type": "object"}},
            },
            "required": ["outcome", "error_code", "ops"],
            "additionalProperties": False,
        },
        {
            "type": "object",
            "properties": {"outcome": {"const": "error"}, "error_code": {"enum": ["not_found", "declined"]}},
            "required": ["outcome", "error_code"],
            "additionalProperties": False,
        },
    ]
}


@pytest.mark.parametrize(
    ("value", "read"),
    [
        ({"outcome": "OK", "ops": None}, {"outcome": "ok", "error_code": None, "ops": []}),
        ({"outcome": "ok", "error_code": "null", "ops": []}, {"outcome": "ok", "error_code": None, "ops": []}),
        (
            {"outcome": "error", "error_code": "Not found", "ops": []},
            {"outcome": "error", "error_code": "not_found"},
        ),
        ({"outcome": "error", "error_code": "not_found", "ops": [{"op": "add"}]}, None),
        ({"error_code": None, "ops": []}, None),
        ({"error_code": "not_found"}, None),
        ({"outcome": "ok", "error_code": "not_found"}, None),
    ],
)
def test_a_form_with_branches_is_read_in_the_one_that_fits(value: Any, read: Any) -> None:
    shape = Shape(BRANCHES, Habits())
    if read is None:
        with pytest.raises(NoReading):
            shape.read(value)
    else:
        assert shape.read(value)[0] == read


def test_what_can_only_be_one_thing_need_not_be_said() -> None:
    properties = {"message": {"type": "string"}, "stop": {"const": False}}
    schema = {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}
    assert Shape(schema, Habits()).read({"message": "Hi."})[0] == {"message": "Hi.", "stop": False}
    with pytest.raises(NoReading):
        Shape(schema, Habits()).read({"message": "Hi.", "stop": "yes"})


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.dictionaries(st.sampled_from(["message", "stop", "confirms", "x", "Stop", "confirm"]), JSON, max_size=5))
def test_no_reading_invents_consent_or_leave(value: dict[str, Any]) -> None:
    try:
        data, _ = Form(CUSTOMER).read_tolerantly(json.dumps(value))
    except Failure:
        return
    for name in ("stop", "confirms"):
        if data[name]:
            said = [item for key, item in value.items() if key.lower().startswith(name[:4])]
            assert any(item in (True, 1) or fold(str(item)) in ("true", "yes") for item in said)


def test_a_schema_is_read_strictly_first() -> None:
    form = Form(ReplySchema("n", {"type": "object", "properties": {"n": {"type": ["string", "null"]}}}))
    assert form.read_tolerantly('{"n": "null", "m": 1}') == ({"n": "null", "m": 1}, ())
