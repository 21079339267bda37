# ruff: noqa: D417 (a tool's docstring tells the agent about its arguments; the draft is none of them)
"""The world of the library desk: its tools, as ordinary Python over the state.

A tool is a method with `@tool`. Its annotations become the argument schema, its docstring the description, and
`simia check . --write-tools` writes tools.json from both. It gets a draft of the state:

    db.get(table, key)    a row to look at, or None
    db.rows(table)        every (key, row)
    db.edit(table, key)   a row to change
    db.put(table, key, row), db.remove(table, key)

What it changes becomes the operations of the record, and must lie in its write set. What it returns is what the agent
sees: a text as it is, anything else as JSON; with `render`, it returns nothing, and the agent sees what that rule shows
of the state. With ToolError it declines, and nothing changes.

`reads` says which rows it looks at. A language model that plays the tool sees these and nothing else; `simia check`
proves that they are enough.
"""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any, Literal

from simia_gym import Draft, Row, ToolError, World, tool

LOAN_DAYS = 21


class LibraryWorld(World):
    """The desk's five tools."""

    @tool(effect="read", reads=["books"])
    def search_books(self, db: Draft, title: str) -> list[dict[str, Any]]:
        """Find books by words of their title.

        Args:
            title: The title, or a part of it.
        """
        wanted = title.casefold()
        return [dict(book) for _, book in db.rows("books") if wanted in book["title"].casefold()]

    @tool(effect="read", reads=["members/{member_id}", "loans?member_id={member_id}", "books#title"])
    def get_member(self, db: Draft, member_id: str) -> dict[str, Any]:
        """Get a member and the books that they have at home.

        Args:
            member_id: The member's id, such as M-101.
        """
        member = _find(db, "members", member_id, "Member")
        loans = [
            {"loan_id": key, "book_id": loan["book_id"], "title": _find(db, "books", loan["book_id"], "Book")["title"]}
            for key, loan in db.rows("loans")
            if loan["member_id"] == member_id and not loan["returned"]
        ]
        return {**member, "loans": loans}

    @tool(
        effect="write",
        reads=["members/{member_id}", "books/{book_id}", "desk/main"],
        writes=["loans", "books/*/available", "desk/main/next_loan"],
    )
    def lend_book(self, db: Draft, member_id: str, book_id: str) -> dict[str, Any]:
        """Lend a copy of a book to a member.

        Args:
            member_id: The member's id.
            book_id: The book's id, such as B-01.
        """
        _find(db, "members", member_id, "Member")
        if _find(db, "books", book_id, "Book")["available"] < 1:
            why = "All copies are lent. A book can be lent again once a copy of it was brought back."
            raise ToolError(f"No copy of {book_id} is available", "not_available", why)
        # Clocks and counters are part of the state, so that the same state and call always give the same answer.
        desk = db.edit("desk", "main")
        loan_id = f"L-{desk['next_loan']}"
        loan = {
            "loan_id": loan_id,
            "member_id": member_id,
            "book_id": book_id,
            "due": (date.fromisoformat(desk["today"]) + timedelta(days=LOAN_DAYS)).isoformat(),
            "returned": False,
        }
        desk["next_loan"] += 1
        db.edit("books", book_id)["available"] -= 1
        db.put("loans", loan_id, loan)
        return loan

    @tool(
        effect="write",
        reads=["loans/{loan_id}", "books/{/loans/{loan_id}/book_id}"],
        writes=["loans/*/returned", "books/*/available"],
        render={"row": "/loans/{loan_id}"},
    )
    def return_book(self, db: Draft, loan_id: str) -> None:
        """Take a lent book back.

        Args:
            loan_id: The loan's id, such as L-1.
        """
        if _find(db, "loans", loan_id, "Loan")["returned"]:
            raise ToolError(f"Loan {loan_id} was returned already", "already_returned", "A loan ends once.")
        loan = db.edit("loans", loan_id)
        loan["returned"] = True
        db.edit("books", loan["book_id"])["available"] += 1

    @tool(effect="none", terminal=True, render={"text": "Case closed"})
    def close_case(self, db: Draft, outcome: Literal["done", "refused"], note: str) -> None:
        """Close the case. Nothing can be done in it afterwards.

        Args:
            outcome: Whether the request was carried out.
            note: One sentence for the file.
        """


def _find(db: Draft, table: str, key: str, name: str) -> Row:
    row = db.get(table, key)
    if row is None:
        raise ToolError(f"{name} {key} not found", "not_found", f"There is nothing with this id in {table}.")
    return row
