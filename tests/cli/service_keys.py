"""The lending desk with what it does not use itself: a change of its files that uses the other keys of service.yaml."""

from __future__ import annotations

from pathlib import Path

WORLD = '''
    @tool(effect="write", reads=["loans", "books"], writes=["loans", "books/*/on_shelf"])
    def return_books(self, db: Draft, loan_ids: list[str]) -> str:
        """Take several books back.

        Args:
            loan_ids: The loans' numbers.
        """
        for loan_id in loan_ids:
            self.return_book(db, loan_id)
        return "Returned"

    @tool(effect="write", reads=["loans/{loan_id}"], writes=["loans/*/due"])
    def extend_loan(self, db: Draft, loan_id: str, due: str) -> str:
        """Give a loan a later day.

        Args:
            loan_id: The loan's number.
            due: The day.
        """
        _find(db, "loans", loan_id, "Loan")
        db.edit("loans", loan_id)["due"] = due
        return "Extended"

    @tool(effect="none", terminal=True)
    def fetch_colleague(self, db: Draft, summary: str) -> str:
        """Let a colleague take over.

        Args:
            summary: What the member wants.
        """
        return "Fetched"
'''

RULES = '''

def own_titles(case):
    """The member's loans, by title."""
    return {one["loan_id"]: Option((one["title"],), (one["title"], one["loan_id"])) for one in member(case)["loans"]}


def day_read(text, case):
    """A day in words."""
    found = re.search(r"(May|June|July) (\\d+)", text)
    return found and f"2024-{['May', 'June', 'July'].index(found[1]) + 5:02}-{int(found[2]):02}"


def day_said(day):
    """A day as members say it."""
    return f"{['May', 'June', 'July'][int(day[5:7]) - 5]} {int(day[8:])}"


def day_expected(case, day):
    """How a proposal may name a day."""
    return [{"any": [day_said(day), day], "avoid": []}]


def soon(case):
    """Nothing is kept for long."""
    return No({"day": day_said(case.slot("until"))}) if case.slot("until") > "2024-06-30" else None


def colleague(case):
    """Somebody else's business."""
    return No({"title": book(case)["title"]}, handover=True)


def draw_extend(cast, who):
    """A loan, and a later day."""
    drawn = draw_loan(cast, who)
    drawn.slots["until"] = f"2024-06-{cast.rng.randrange(10, 29)}"
    return drawn


def draw_several(cast, who):
    """Three loans, two of which are brought."""
    rows = [new_loan(cast, who) for _ in range(3)]
    return Drawn({"titles": [row["loan_id"] for row in rows[:2]]})


def looked(case, drawn):
    """One more item."""
    check = {"program": "called", "tool": "get_member", "arguments": {"member_id": case.who}}
    return [{"id": "looked", "kind": "interaction", "check": check, "says": "The loans are looked up."}]


def heavier(case, drawn):
    """A refusal that weighs more."""
    return [{"id": "refused", "weight": 4}]
'''

TOP = r"""kinds:
  due_after: {of: extend, then: due}
handover: {tool: fetch_colleague, with: {summary: "A complaint about {book}"}}
stranger_kind: impostor
slots:
  titles:
    ask: ['\bwhich books\b']
    question: Which books are you handing in?
    say: "Here are {value}."
    options: own_titles
    many: true
  until:
    ask: ['\bwhich day\b']
    question: Until which day?
    say: "Until {value}."
    find: day_read
    words: day_said
    expect: day_expected
    token: date
rules:
  soon: {why: "I cannot extend it until {day}, which is too late.", about: ["{day}"]}
  colleague: {why: "A colleague sees to {title}."}
"""

WISHES = r"""  bring:
    kind: bring_several
    say: I have some books to hand in.
    hear: '\bbooks to hand in\b'
    does: ['\btake\b.{0,80}\bback\b']
    slots: [titles]
    call: {tool: return_books, with: {loan_ids: titles}}
    propose: I will take {titles} back.
    criteria: looked
    draw: draw_several
  extend:
    say: ["I'd like a later day.", "I'd like a later day for loan {loan}."]
    hear: '\blater day\b'
    does: ['\bextend']
    slots: [loan, until]
    rules: [own_loan, soon]
    call: {tool: extend_loan, with: {loan_id: loan, due: until}}
    propose: I will extend {loan} until {until}.
    deeds: extended
    then: due
    draw: draw_extend
    breaches:
      others: {rule: own_loan, do: of_other, kind: refuse_not_yours}
      late: {rule: soon, slots: {until: "2024-07-01"}, criteria: heavier}
    edges:
      last: {slots: {until: "2024-06-30"}}
  complain:
    granted: false
    say: I want to complain about a book.
    hear: '\bcomplain\b'
    slots: [book]
    rules: [colleague]
    tell: I am sorry about "{book}".
    draw: draw_hold
    breaches:
      always: {rule: colleague, kind: complaint}
"""


def alter(folder: Path) -> None:
    """Change a desk that was just written."""
    world = (folder / "world.py").read_text()
    (folder / "world.py").write_text(world.replace("\n\ndef _who(", f"{WORLD}\n\ndef _who(", 1))
    rules = (folder / "rules.py").read_text().replace("Cast, Drawn, Member, No", "Cast, Drawn, Member, No, Option")
    (folder / "rules.py").write_text(rules.replace("from functools", "import re\nfrom functools", 1) + RULES)
    text = (folder / "service.yaml").read_text()
    slots, _, rest = TOP.partition("rules:\n")
    text = text.replace("slots:\n", slots, 1).replace("\nrules:\n", f"\nrules:\n{rest}", 1)
    text = text.replace("{rule: own_loan, do: of_other}", "{rule: own_loan, do: of_other, kind: refuse_not_yours}")
    (folder / "service.yaml").write_text(text + WISHES)
