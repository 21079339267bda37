# ruff: noqa: D417 (a tool's docstring tells the agent about its arguments; the draft is none of them)
"""The world of the lending desk: its tools. They carry out what they are told; the rules are in rules.py."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any, Literal

from simia_gym import Draft, Row, ToolError, World, tool


class DeskWorld(World):
    """The desk's tools."""

    @tool(effect="read", reads=["members"])
    def find_member_by_card(self, db: Draft, card: str) -> str:
        """Find a member's id by the number of the library card.

        Args:
            card: The card's number, eight digits.
        """
        return _only([key for key, row in db.rows("members") if row["card"] == card])

    @tool(effect="read", reads=["members"])
    def find_member_by_name(self, db: Draft, first_name: str, last_name: str, postcode: str) -> str:
        """Find a member's id by name and postcode.

        Args:
            first_name: The first name.
            last_name: The last name.
            postcode: The postcode, five digits.
        """
        wanted = (first_name.casefold(), last_name.casefold(), postcode)
        return _only([key for key, row in db.rows("members") if _who(row) == wanted])

    @tool(effect="read", reads=["members/{member_id}", "loans?member_id={member_id}", "holds?member_id={member_id}"])
    def get_member(self, db: Draft, member_id: str) -> dict[str, Any]:
        """Get a member, with the loans and the holds.

        Args:
            member_id: The member's id.
        """
        member = _find(db, "members", member_id, "Member")
        loans = [dict(row) for _, row in db.rows("loans") if row["member_id"] == member_id]
        holds = [row["book_id"] for _, row in db.rows("holds") if row["member_id"] == member_id]
        return {**member, "loans": loans, "holds": holds}

    @tool(effect="read", reads=["books", "holds"])
    def find_book(self, db: Draft, title: str) -> dict[str, Any]:
        """Find a book by its whole title.

        Args:
            title: The title.
        """
        for key, row in db.rows("books"):
            if row["title"].casefold() == title.casefold():
                return {**row, "held_by_members": sum(hold["book_id"] == key for _, hold in db.rows("holds"))}
        raise ToolError(f"Book {title} not found", "not_found", "There is no book of this title.")

    @tool(effect="read", reads=["loans/{loan_id}"])
    def get_loan(self, db: Draft, loan_id: str) -> dict[str, Any]:
        """Get a loan.

        Args:
            loan_id: The loan's number.
        """
        return dict(_find(db, "loans", loan_id, "Loan"))

    @tool(
        effect="write",
        reads=["members/{member_id}", "books/{book_id}", "desk/main"],
        writes=["loans", "books/*/on_shelf", "desk/main/next_loan"],
    )
    def lend_book(self, db: Draft, member_id: str, book_id: str, weeks: Literal[2, 4]) -> dict[str, Any]:
        """Lend a book.

        Args:
            member_id: The member's id.
            book_id: The book's id.
            weeks: For how long.
        """
        _find(db, "members", member_id, "Member")
        book = _find(db, "books", book_id, "Book")
        if book["on_shelf"] < 1:
            raise ToolError(f"No copy of {book_id} is on the shelf", "none_left", "All copies are lent.")
        desk = db.edit("desk", "main")
        loan = {
            "loan_id": f"L-{desk['next_loan']}",
            "member_id": member_id,
            "book_id": book_id,
            "title": book["title"],
            "due": (date.fromisoformat(desk["today"]) + timedelta(weeks=weeks)).isoformat(),
            "renewed": 0,
        }
        desk["next_loan"] += 1
        db.edit("books", book_id)["on_shelf"] -= 1
        db.put("loans", loan["loan_id"], loan)
        return loan

    @tool(
        effect="write",
        reads=["loans/{loan_id}", "books/{/loans/{loan_id}/book_id}"],
        writes=["loans", "books/*/on_shelf"],
    )
    def return_book(self, db: Draft, loan_id: str) -> str:
        """Take a book back, which ends its loan.

        Args:
            loan_id: The loan's number.
        """
        db.edit("books", _find(db, "loans", loan_id, "Loan")["book_id"])["on_shelf"] += 1
        db.remove("loans", loan_id)
        return "Returned"

    @tool(effect="write", reads=["loans/{loan_id}"], writes=["loans/*/due", "loans/*/renewed"])
    def renew_loan(self, db: Draft, loan_id: str) -> dict[str, Any]:
        """Give a loan two more weeks.

        Args:
            loan_id: The loan's number.
        """
        _find(db, "loans", loan_id, "Loan")
        loan = db.edit("loans", loan_id)
        loan["due"] = (date.fromisoformat(loan["due"]) + timedelta(weeks=2)).isoformat()
        loan["renewed"] += 1
        return dict(loan)

    @tool(effect="write", reads=["members/{member_id}", "books/{book_id}"], writes=["holds"])
    def hold_book(self, db: Draft, member_id: str, book_id: str) -> str:
        """Keep the next returned copy of a book for a member.

        Args:
            member_id: The member's id.
            book_id: The book's id.
        """
        _find(db, "members", member_id, "Member")
        _find(db, "books", book_id, "Book")
        db.put("holds", f"{member_id}:{book_id}", {"member_id": member_id, "book_id": book_id})
        return "Held"

    @tool(effect="write", reads=["members/{member_id}"], writes=["members/*/fine"])
    def pay_fine(self, db: Draft, member_id: str) -> str:
        """Charge a member's card with the whole fine.

        Args:
            member_id: The member's id.
        """
        _find(db, "members", member_id, "Member")
        db.edit("members", member_id)["fine"] = 0
        return "Paid"


def _who(row: Row) -> tuple[str, str, str]:
    return row["first_name"].casefold(), row["last_name"].casefold(), row["postcode"]


def _only(keys: list[str]) -> str:
    if len(keys) != 1:
        raise ToolError("Member not found", "not_found", "There is no member with these details.")
    return keys[0]


def _find(db: Draft, table: str, key: str, name: str) -> Row:
    row = db.get(table, key)
    if row is None:
        raise ToolError(f"{name} {key} not found", "not_found", f"There is nothing with this id in {table}.")
    return row
