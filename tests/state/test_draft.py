from __future__ import annotations

import threading
from typing import Any

import pytest

from simia_gym.common.json_encoding import encode
from simia_gym.errors import InputError
from simia_gym.state import State
from simia_gym.types import Row

TABLES: dict[str, dict[str, Any]] = {
    "orders": {
        "#1": {"status": "pending", "items": [{"id": None}], "tags": [None], "user": "ann"},
        "#2": {"status": "done", "items": [], "user": "bob"},
        "#3": {"status": "done", "items": [], "user": "ann"},
    },
    "users": {"ann": {"name": "Ann"}},
}


@pytest.fixture
def state() -> State:
    return State.from_tables(TABLES)


def owner(key: str, row: Row) -> str | None:
    user = row.get("user")
    return user if isinstance(user, str) else None


def test_reads_see_edits_and_cannot_change_them(state: State) -> None:
    draft = state.draft()
    draft.edit("orders", "#1")["status"] = "x"
    for read in (draft.get("orders", "#1"), draft.row("orders", "#1"), dict(draft.rows("orders"))["#1"]):
        assert read is not None
        assert read["status"] == "x"
        with pytest.raises(TypeError, match="read-only"):
            read["status"] = "y"
    assert draft.row("orders", "#2") is state.get("orders", "#2")
    with pytest.raises(TypeError, match=r"draft\.edit"):
        draft.row("orders", "#2")["status"] = "y"


def test_what_is_missing(state: State) -> None:
    draft = state.draft()
    assert draft.get("orders", "#9") is None
    assert not draft.has("orders", "#9")
    for attempt in (draft.row, draft.edit, draft.remove):
        for table in ("orders", "absent"):
            with pytest.raises(KeyError, match=f"no row '#9' in table '{table}'"):
                attempt(table, "#9")
    assert draft.commit() == (state, ())


def test_no_effect_no_operation(state: State) -> None:
    draft = state.draft()
    row = draft.edit("orders", "#1")
    row["status"] = "x"
    row["status"] = "pending"
    draft.put("users", "ann", {"name": "Ann"})
    draft.put("users", "new", {})
    draft.remove("users", "new")
    made, ops = draft.commit()
    assert made is state
    assert ops == ()


def test_a_row_that_comes_back_goes_behind_in_the_order_of_the_last_put(state: State) -> None:
    draft = state.draft()
    draft.remove("orders", "#1")
    assert not draft.has("orders", "#1")
    assert draft.get("orders", "#1") is None
    with pytest.raises(KeyError):
        draft.edit("orders", "#1")
    draft.put("orders", "#0", {"user": "ann"})
    draft.put("orders", "#1", {"user": "ann"})
    assert list(draft.keys("orders")) == ["#2", "#3", "#0", "#1"]
    draft.put("orders", "#00", {})
    draft.remove("orders", "#0")
    draft.put("orders", "#0", {"user": "ann"})
    made, ops = draft.commit()
    assert [op["op"] for op in ops] == ["remove", "add", "add", "add"]
    for each in (draft, made, state.apply(ops)):
        assert list(each.keys("orders")) == ["#2", "#3", "#1", "#00", "#0"]
    assert made.draft().find("orders", "owner", owner, "ann") == ["#3", "#1", "#0"]


def test_commit_can_be_repeated(state: State) -> None:
    draft = state.draft()
    for status in ("x", "y"):
        draft.edit("orders", "#1")["status"] = status
        made, ops = draft.commit()
        assert made.at("/orders/#1/status") == ops[0]["value"] == status
    assert draft.state is state


def test_operations_and_states_are_out_of_reach(state: State) -> None:
    draft = state.draft()
    new: dict[str, Any] = {"deep": [{"a": []}]}
    row = draft.edit("orders", "#1")
    row["new"] = new
    row["shared"] = draft.row("orders", "#2")["items"]
    made, ops = draft.commit()
    kept = encode([made.to_tables(), list(ops)])
    new["deep"][0]["a"].append(1)
    row["new"]["deep"].clear()
    row["items"].clear()
    for op in ops:
        with pytest.raises(TypeError):
            op["path"] = "/elsewhere"
        with pytest.raises(TypeError):
            op["value"].clear()
    assert encode([made.to_tables(), list(ops)]) == kept
    assert state.to_tables() == TABLES


@pytest.mark.parametrize("bad", [{1, 2}, float("nan"), {1: 2}])
def test_what_is_not_json_cannot_be_committed(state: State, bad: Any) -> None:
    changes: list[dict[str, Any]] = [{"new": bad}, {"status": bad}, {"items": [{"id": bad}]}, {"tags": [bad]}]
    for change in changes:
        draft = state.draft()
        draft.edit("orders", "#1").update(change)
        with pytest.raises(InputError):
            draft.commit()
        with pytest.raises(InputError):
            draft.put("orders", "#1", change)
    assert state.to_tables() == TABLES


def test_put_checks_its_arguments(state: State) -> None:
    wrong: Any
    for wrong in (("users", "x", []), ("users", 5, {}), (5, "x", {})):
        with pytest.raises(InputError, match=r"Draft\.put"):
            state.draft().put(*wrong)


def test_rows_can_be_changed_while_they_are_gone_through(state: State) -> None:
    draft = state.draft()
    for key, _ in draft.rows("orders"):
        draft.edit("orders", key)["seen"] = True
    for key, row in draft.rows("orders"):
        assert row["seen"]
        draft.remove("orders", key)
        draft.put("orders", key + "b", row)
    assert list(draft.keys("orders")) == ["#1b", "#2b", "#3b"]
    assert draft.count("orders") == 3


def test_indexes_follow_base_overlay_and_draft(state: State) -> None:
    calls: list[str] = []

    def counted(key: str, row: Row) -> str | None:
        calls.append(key)
        return owner(key, row)

    assert state.draft().find("orders", "owner", counted, "ann") == ["#1", "#3"]
    assert sorted(calls) == ["#1", "#2", "#3"]
    calls.clear()
    assert state.draft().find("orders", "owner", counted, "bob") == ["#2"]
    assert calls == []
    draft = state.draft()
    draft.edit("orders", "#2")["user"] = "ann"
    draft.put("orders", "#4", {"user": "ann"})
    assert draft.find("orders", "owner", counted, "ann") == ["#1", "#2", "#3", "#4"]
    made, _ = draft.commit()
    draft = made.draft()
    assert draft.find("orders", "owner", counted, "ann") == ["#1", "#2", "#3", "#4"]
    assert draft.find("orders", "owner", counted, "bob") == []
    draft.remove("orders", "#3")
    draft.edit("orders", "#4")["user"] = None
    assert draft.find("orders", "owner", counted, "ann") == ["#1", "#2"]
    assert draft.find("orders", "owner", counted, None) == []
    # States from the beginning see their own rows through the same shared index.
    assert state.draft().find("orders", "owner", counted, "bob") == ["#2"]
    assert state.draft().find("absent", "owner", counted, "bob") == []


def test_an_index_that_cannot_be_built_is_not_kept_half_built(state: State) -> None:
    def strict(key: str, row: Row) -> str:
        if key == "#3":
            raise ValueError(key)
        return str(row["user"])

    for _ in range(2):
        with pytest.raises(ValueError, match="#3"):
            state.draft().find("orders", "strict", strict, "ann")


def test_an_index_that_another_thread_builds_is_not_seen_half_built(state: State) -> None:
    seen: list[list[str]] = []

    def slow(key: str, row: Row) -> str:
        if key == "#2" and threading.current_thread() is first:
            other.start()
            other.join()
        return str(row["user"])

    def find() -> None:
        seen.append(state.draft().find("orders", "slow", slow, "ann"))

    first, other = threading.Thread(target=find), threading.Thread(target=find)
    first.start()
    first.join()
    assert seen == [["#1", "#3"]] * 2


def test_tables_that_a_draft_adds(state: State) -> None:
    draft = state.draft()
    draft.put("zoo", "z", {})
    draft.put("log", "1", {})
    assert draft.commit()[0].tables == ("orders", "users", "log", "zoo")
    draft.remove("log", "1")
    assert draft.commit()[0].tables == ("orders", "users", "zoo")
