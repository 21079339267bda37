"""The desk's rules, the values of its calls, and what its tasks are drawn from."""

from __future__ import annotations

from functools import partial
from typing import Any

from simia_gym.service import Case, Cast, Drawn, Member, No

MOST_FINE, MOST_LOANS, MOST_HOLDS, MOST_RENEWALS = 10, 3, 2, 1
COLOURS = ("Amber", "Copper", "Crimson", "Golden", "Grey", "Hidden", "Ivory", "Silent", "Silver", "Winter")
THINGS = ("Anchor", "Bridge", "Compass", "Forest", "Garden", "Harbour", "Island", "Lantern", "Orchard", "River")


def member(case: Case) -> Any:
    """The customer's row, with loans and holds."""
    return case.read("get_member", member_id=case.who) or {"fine": 0, "loans": [], "holds": []}


def book(case: Case) -> Any:
    """The book that the customer names."""
    return case.read("find_book", title=case.slot("book")) or {"book_id": "", "on_shelf": 0, "new": False}


def loan(case: Case) -> Any:
    """The loan whose number the customer gives."""
    return case.read("get_loan", loan_id=case.slot("loan"))


def small_fine(case: Case) -> No | None:
    """Who owes ten dollars or more borrows nothing."""
    fine = member(case)["fine"]
    return No({"fine": fine}) if fine >= MOST_FINE else None


def few_loans(case: Case) -> No | None:
    """Nobody has more than three books."""
    return No() if len(member(case)["loans"]) >= MOST_LOANS else None


def on_shelf(case: Case) -> No | None:
    """Only what is there is lent."""
    return No() if book(case)["on_shelf"] < 1 else None


def period(case: Case) -> No | None:
    """New titles go out for two weeks."""
    return No() if book(case)["new"] and case.slot("weeks") > 2 else None


def own_loan(case: Case) -> No | None:
    """A loan is the business of the member who has it."""
    return No() if case.slot("loan") not in [item["loan_id"] for item in member(case)["loans"]] else None


def renewals(case: Case) -> No | None:
    """A loan is renewed once."""
    return No() if loan(case)["renewed"] >= MOST_RENEWALS else None


def not_wanted(case: Case) -> No | None:
    """What another member waits for is not renewed."""
    found = case.read("find_book", title=loan(case)["title"])
    return No({"title": found["title"]}) if found["held_by_members"] else None


def lent_out(case: Case) -> No | None:
    """What is on the shelf is not held."""
    return No() if book(case)["on_shelf"] > 0 else None


def few_holds(case: Case) -> No | None:
    """Nobody holds more than two books."""
    return No() if len(member(case)["holds"]) >= MOST_HOLDS else None


def owes(case: Case) -> No | None:
    """Only who owes pays."""
    return No() if member(case)["fine"] <= 0 else None


def of_book(case: Case) -> dict[str, Any]:
    """The id of the book."""
    return {"book_id": book(case)["book_id"]}


def of_fine(case: Case) -> dict[str, Any]:
    """What is owed."""
    return {"fine": member(case)["fine"]}


def of_loan(case: Case) -> dict[str, Any]:
    """When the loan ends."""
    mine = [item for item in member(case)["loans"] if item["loan_id"] == case.slot("loan")]
    return {"due": mine[0]["due"] if mine else "unknown"}


def new_member(cast: Cast) -> Member:
    """A member who owes little and has nothing."""
    first, last = cast.name()
    number = cast.number()
    row: dict[str, Any] = {
        "member_id": f"M-{number}",
        "first_name": first,
        "last_name": last,
        "postcode": f"{cast.rng.randrange(10_000, 100_000)}",
        "card": f"{number:08d}",
        "fine": cast.rng.randrange(1, MOST_FINE),
    }
    details = {"card": row["card"], "first_name": first, "last_name": last, "postcode": row["postcode"]}
    return Member("members", row["member_id"], row, details)


def new_book(cast: Cast, on_shelf: int) -> dict[str, Any]:
    """A book."""
    title = cast.fresh([f"The {colour} {thing}" for colour in COLOURS for thing in THINGS])
    key = f"B-{cast.number()}"
    return cast.add("books", key, {"book_id": key, "title": title, "on_shelf": on_shelf, "new": False})


def new_loan(cast: Cast, who: Member) -> dict[str, Any]:
    """A book that somebody has."""
    taken = new_book(cast, 0)
    key = f"L-{cast.number()}"
    row = {
        "loan_id": key,
        "member_id": who.key,
        "book_id": taken["book_id"],
        "title": taken["title"],
        "due": f"2024-05-{cast.rng.randrange(10, 29)}",
        "renewed": 0,
    }
    return cast.add("loans", key, row)


def draw_lend(cast: Cast, who: Member) -> Drawn:
    """A book on the shelf."""
    row = new_book(cast, cast.rng.choice((1, 2, 3)))
    return Drawn({"book": row["title"], "weeks": cast.rng.choice((2, 4))}, {"book": row})


def draw_hold(cast: Cast, who: Member) -> Drawn:
    """A book that others have."""
    row = new_book(cast, 0)
    return Drawn({"book": row["title"]}, {"book": row})


def draw_loan(cast: Cast, who: Member) -> Drawn:
    """A loan of the member's."""
    row = new_loan(cast, who)
    return Drawn({"loan": row["loan_id"]}, {"loan": row})


def loans(cast: Cast, drawn: Drawn, who: Member, count: int) -> None:
    """So many loans."""
    for _ in range(count):
        new_loan(cast, who)


two_loans, three_loans = partial(loans, count=2), partial(loans, count=3)


def hold_for(cast: Cast, who: Member, key: str) -> None:
    """A hold."""
    cast.add("holds", f"{who.key}:{key}", {"member_id": who.key, "book_id": key})


def holds(cast: Cast, drawn: Drawn, who: Member, count: int) -> None:
    """So many holds."""
    for _ in range(count):
        hold_for(cast, who, new_book(cast, 0)["book_id"])


one_hold, two_holds = partial(holds, count=1), partial(holds, count=2)


def wanted_by_other(cast: Cast, drawn: Drawn, who: Member) -> None:
    """Another member waits for the lent book."""
    hold_for(cast, cast.join(new_member(cast)), drawn.rows["loan"]["book_id"])


def of_other(cast: Cast, drawn: Drawn, who: Member) -> None:
    """The loan is another member's."""
    drawn.rows["loan"]["member_id"] = cast.join(new_member(cast)).key
