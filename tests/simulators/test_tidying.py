"""What is put right in an answer that breaks a rule of form, and what is not."""

from __future__ import annotations

from typing import Any

import pytest

from simia_gym.domain.domain import Domain
from simia_gym.errors import Fault
from simia_gym.simulators.checked import CheckedSimulator
from simia_gym.types import JsonObject, ToolCall

from .desk import Double, context_of, failed, ok, put

LEND = ToolCall("lend", {"book_id": "b1", "member_id": "m1"})
RENAME = ToolCall("rename", {"book_id": "b1", "title": "1984"})
WIPE = ToolCall("wipe", {})
LOAN = {"id": "l2", "book_id": "b1", "member": "m1"}
BOOK = {"id": "b3", "title": "Bay", "copies": 2, "available": 1, "tags": []}


def add(path: str, value: Any) -> JsonObject:
    return {"op": "add", "path": path, "value": value}


async def played(domain: Domain, call: ToolCall, answer: JsonObject, *, tolerant: bool = True) -> Any:
    """The transition and the kinds of what was put right, with a model that always answers so."""
    model = Double(answer)
    if tolerant:
        complete = model.complete

        async def reading(request: Any) -> Any:
            return (await complete(request))._replace(read=())

        model.complete = reading  # type: ignore[method-assign]
    context = context_of(domain)
    simulator = CheckedSimulator(domain, model)
    simulator.begin(context)
    transition = await simulator.call(call, context)
    (event,) = context.ledger.events
    return transition, event.get("read", [])


@pytest.mark.parametrize(
    ("call", "answer", "ops", "kinds"),
    [
        (LEND, ok("x", put("books/b1/available", 1)), [put("/books/b1/available", 1)], ["path"]),
        (LEND, ok("x", put("/tables/books/b1/available", 1)), [put("/books/b1/available", 1)], ["path"]),
        (LEND, ok("x", add("loans/l2", LOAN)), [add("/loans/l2", LOAN)], ["path"]),
        (LEND, ok("x", add("books/b1/tags/-", "lent")), [add("/books/b1/tags/-", "lent")], ["path"]),
        (LEND, ok("x", put("/books/b1/available", "1")), [put("/books/b1/available", 1)], ["text"]),
        (LEND, ok("x", put("books.b1.available", " 1 ")), [put("/books/b1/available", 1)], ["path", "text"]),
        (RENAME, ok("x", put("/books/b1/title", 1984)), [put("/books/b1/title", "1984")], ["text"]),
        (WIPE, ok("x", add("/books/b3", {**BOOK, "copies": "2"})), [add("/books/b3", BOOK)], ["text"]),
        (ToolCall("close", {}), ok("x", put("/desk/main/closed", "True")), [put("/desk/main/closed", True)], ["text"]),
        (LEND, {**ok("x"), "error_code": "none"}, [], ["null"]),
        (LEND, ok("x", put("/books/b1/available", 1)), [put("/books/b1/available", 1)], []),
    ],
)
async def test_what_has_one_reading_is_put_right(
    domain: Domain, call: ToolCall, answer: JsonObject, ops: Any, kinds: list[str]
) -> None:
    transition, read = await played(domain, call, answer)
    assert (list(transition.ops), read) == (ops, kinds)
    if kinds:
        with pytest.raises(Fault):
            await played(domain, call, answer, tolerant=False)


async def test_an_error_code_in_other_letters(domain: Domain) -> None:
    transition, read = await played(domain, LEND, failed("No.", "Not Available"))
    assert (transition.error_code, read) == ("not_available", ["case"])


@pytest.mark.parametrize(
    ("call", "answer"),
    [
        (LEND, ok("x", put("books/b1/copies", 9))),  # outside of what the tool may write
        (LEND, ok("x", put("books/b9/available", 1))),  # no such row
        (LEND, ok("x", put("available", 1))),
        (LEND, ok("x", put("_clock/now/day", 9))),
        (LEND, ok("x", put("/books/b1/available", "one"))),
        (LEND, ok("x", put("/books/b1/available", "1.5"))),
        (LEND, ok("x", put("/books/b1/available", "9"))),  # more than there are copies
        (LEND, ok("x", put("/books/b1/available", "007"))),
        (LEND, ok("x", put("/books/b1/available", True))),
        (RENAME, ok("x", put("/books/b1/title", 12.5))),
        (RENAME, ok("x", put("/books/b1/title", True))),
        (RENAME, ok("x", put("/books/b1/title", None))),
        (LEND, {**ok("x"), "error_code": "not_found"}),
        (LEND, {**failed("No.", "not_found"), "ops": [put("books/b1/available", 1)]}),
    ],
)
async def test_what_means_something_else_is_not(domain: Domain, call: ToolCall, answer: JsonObject) -> None:
    with pytest.raises(Fault) as caught:
        await played(domain, call, answer)
    assert caught.value.kind == "invalid_reply"
