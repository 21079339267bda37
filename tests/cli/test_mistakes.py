"""A mistake in a file of a domain is named by file, line and fix, as somebody makes it who writes the file by hand."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from simia_gym.cli.app import run
from simia_gym.evaluation.checker import check_folder

from ..sweeps import sweep

NEW = "\n"
# A text in service.yaml, the text instead, the place that is named, and a part of what is said. The place is ``-``, the
# changed line; or a file, with a text that stands first in the line.
SERVICE = r"""
read: '\b\d{8}\b' | raed: '\b\d{8}\b' | - | Did you mean 'read'?
known: 0.6 | known: 6 | - | less than or equal to 1
known: 0.6 | known: often | - | valid number
ask: ['\bcard\b'] | ask: [] | - | should not be empty
ask: ['\bcard\b'] | ask: ['\b(card\b'] | - | unterminated subpattern
ask: ['\bcard\b'] | ask: ['\bCard\b'] | - | such a letter never matches
read: '\b\d{8}\b' | read: '\b\d{8}\b)' | - | unbalanced parenthesis
"My card number is {value}." | "My card number is {card}." | - | nothing fills {card}
"My card number is {value}." | "I have a card." | - | does not tell the value
"My card number is {value}." | "My card number is {value." | - | expected '}'
choice: {2: [two weeks, 2 weeks], 4: [four weeks, 4 weeks]} | named: true | service.yaml: weeks: | nothing reads it
slots: [book, weeks] | slots: [book, week] | - | Did you mean 'weeks'?
rules: [small_fine, few_loans | rules: [smal_fine, few_loans | - | there is no rule 'smal_fine'
on_shelf, period] | on_shelf] | service.yaml: period: {why: "I cannot lend \"{book}\" for four w | no wish has this rule
just_fined: {rule: small_fine | just_fined: {rule: small_fines | - | the wish has no rule 'small_fines'
gone: {rule: on_shelf | gone: {rule: period | service.yaml: breaches: | no breach of rule 'on_shelf'
slots: {weeks: 4}} | slots: {week: 4}} | - | the wish has no slot 'week'
set: {book: {on_shelf: 0}} | set: {bok: {on_shelf: 0}} | - | no drawn row is called 'bok'
set: {book: {on_shelf: 0}} | set: {book: {on_shelf: 1}} | - | on_shelf should object, but none did
{set: {who: {fine: 9}}} | {set: {who: {fine: 10}}} | - | no rule should object
last_copy: {set | gone: {set | - | there is a breach of this name
do: three_loans | do: tree_loans | - | has no 'tree_loans'
do: three_loans | do: new_member | - | no function of (cast, drawn, member)
values: of_book | values: of_bok | - | It has: of_book
draw: draw_lend | draw: small_fine | - | no function of (cast, member)
customer: new_member | customer: newmember | - | It has: new_member
module: rules.py | module: rule.py | - | there is no file
tool: lend_book | tool: lent_book | - | Did you mean 'lend_book'?
weeks: weeks}} | week: weeks}} | - | lend_book needs the argument 'weeks'
tool: renew_loan, with: {loan_id: loan} | tool: renew_loan, with: {loan_id: lone} | - | the wish has no slot 'lone'
with: {card: card} | with: {card: crad} | - | Did you mean 'card'?
member_id: {table: members} | member_id: {table: member} | - | there is no table 'member'
member_id: {table: members} | memberid: {table: members} | - | no tool has an argument 'memberid'
I will renew {loan} by | I will renew {laon} by | - | nothing fills {laon}
hear: '\bborrow\b| | hear: '\bborrow(\b| | - | no regular expression
you owe ${fine} | you owe ${fines} | - | Did you mean 'fine'? Known here: {book}, {fine}, {weeks}.
about: ["{book}", copies] | about: ["{bok}", copies] | - | nothing fills {bok}
'I have lent you "{book}" for {weeks}.' | 'I have lent you "{title}".' | service.yaml: lend: | nothing fills {title}
with these details, so | with {card}, so | - | nothing fills {card}
deeds: [lent] | deeds: [lent | service.yaml: draw: draw_lend | not valid YAML
deeds: [lent] | propose: x | - | occurs twice
propose: I will renew | propose: Yes: I will renew | - | not valid YAML
answers: ["{due}"] | report: Done. | service.yaml: due: | lacks answers
does: ['\brenew'] | does: [] | service.yaml: renew: | lacks does
customer: new_member | kinds: {two: {of: lent}}; customer: new_member | - | Did you mean 'lend'?
customer: new_member | kinds: {two: {of: lend, slot: week}}; customer: new_member | - | there is no slot 'week'
customer: new_member | fixed: {train: [lent]}; customer: new_member | - | there is no kind 'lent'
propose: I will renew {loan} by two weeks. | propose: '' | service.yaml: renew: | lacks propose
"""
OTHERS = r"""
rules.py | def owes(case: Case) | def owes() | service.yaml: owes: {why | Write `def owes(case)`
rules.py | def owes(case: Case) | def owes(case: Case)) | service.yaml: module: | line 77
rules.py | "get_loan", loan_id | "get_lone", loan_id | rules.py | no tool takes get_lone(loan_id)
rules.py | "get_loan", loan_id | "get_loan", loanid | rules.py | there is: loan_id
rules.py | fine >= MOST_FINE | True | service.yaml: lend: | no rule should object, but small_fine did
rules.py | ["on_shelf"] < 1 else None | ["on_shelf"] < 1 else False | service.yaml: on_shelf: {why | returned False
rules.py | case.slot("weeks") > 2 | case.slot("week") > 2 | desk | there is no slot 'week'
rules.py | Drawn({"loan": | Drawn({"lone": | service.yaml: draw: draw_loan | no slot 'loan' is drawn
rules.py | {"fine": fine} | {"fine": fines} | desk | rules.py, line 33
domain.yaml | service: service.yaml | servce: service.yaml | - | Did you mean 'service'?
domain.yaml | DeskWorld | DeskWord | - | It has: DeskWorld
domain.yaml | tasks: | policies: {expert: desk.py:Expert}; tasks: | - | there is no file
domain.yaml | tasks: | reward_options: {value: strct}; tasks: | - | 'strict' or 'weighted'
domain.yaml | tasks: | generator: rules.py:gen; tasks: | - | has no 'gen'
domain.yaml | tasks: | user: scriptd; tasks: | - | there is no user 'scriptd'
domain.yaml | tasks: | ends: [{repeat: 5, invalid: 1}]; tasks: | - | or repeat, or invalid
domain.yaml | tasks: | limits: {operation: 5}; tasks: | - | Did you mean 'operations'?
domain.yaml | tasks: | cues: user.yaml; tasks: | user.yaml: ask | not a regular expression
domain.yaml | tasks: | rubric: rubric.yaml; tasks: | rubric.yaml: goal_stat | Did you mean 'goal_state'?
domain.yaml | max_turns: 40 | max_turns: "40" | - | valid integer
state.json | "fine": 3 | "fine": "3" | - | not of type "integer"
state.json | "M-1", "book_id" | "M-9", "book_id" | - | no key of table 'members'
state.json | "holds": {}, | "holds": {}, "holds": {}, | - | occurs twice
state.schema.json | "foreign_keys" | "foreign_key" | - | Did you mean 'foreign_keys'?
state.schema.json | "/member_id": "members" | "member_id": "members" | - | JSON Pointer
state.schema.json | "/member_id": "members" | "/member_id": "member" | - | no table 'member'
tools.json | "effect": "read" | "efect": "read" | tools.json: "x-simia" | --write-tools
world.py | card: str) | card) | world.py: @tool( | has no annotation
world.py | card: The card | crad: The card | world.py: @tool( | The parameters are: card
world.py | reads=["members"] | reads=["member"] | tools.json: { | the table 'member'
tasks/train.jsonl | "insist": | "insists": | - | Did you mean 'insist'?
tasks/train.jsonl | "kind": | "knid": | - | Did you mean 'kind'?
tasks/train.jsonl | service:own_data | service:own | - | has no 'own'
"""
ROWS = [
    ["service.yaml", *row.split(" | ")] if row in SERVICE else row.split(" | ")
    for row in f"{SERVICE}{OTHERS}".splitlines()
    if row
]


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("mistakes") / "desk"
    assert run(["new-domain", str(folder), "--kind", "service"]) == 0
    for path in folder.glob("tasks/*.jsonl"):
        path.write_text("".join(path.read_text().splitlines(keepends=True)[:2]))
    (folder / "user.yaml").write_text("slots:\n  card:\n    ask: ['(']\n")
    (folder / "rubric.yaml").write_text("- id: goal\n  kind: goal\n  check: {program: goal_stat}\n")
    return folder


@pytest.mark.parametrize(("file", "old", "new", "where", "what"), sweep(ROWS, 25), ids=lambda text: text[:40])
@pytest.mark.sampled
def test_mistake_is_named(file: str, old: str, new: str, where: str, what: str, desk: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(desk, tmp_path / "desk"))
    text = (folder / file).read_text()
    assert old in text
    changed = text.replace(old, new.replace("; ", "\n"), 1)
    (folder / file).write_text(changed)
    named, _, words = where.partition(": ")
    if where == "-":
        places = [f"{file}:{changed[: text.index(old)].count(NEW) + 1}"]
    else:
        lines = (folder / named).read_text().split(NEW) if words else []
        places = [f"{named}:{number}" for number, line in enumerate(lines, 1) if words in line] or [named]
    problems = check_folder(folder).problems
    assert all(problem.fix and NEW not in str(problem) for problem in problems)
    found = [problem for problem in problems if what in str(problem)]
    assert found, [str(problem) for problem in problems]
    stand = [f"{problem.where}:" for problem in found]
    assert any(f"/{place}:" in where for place in places for where in stand), stand


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (
            'yield DomainError("the map is upside down", where="map.txt:3", fix="Turn it.")',
            "map.txt:3: the map is upside",
        ),
        ("yield from domain.nothing", "check raised AttributeError"),
    ],
)
@pytest.mark.slow
def test_a_domain_checks_its_own_files(body: str, says: str, desk: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(desk, tmp_path / "desk"))
    (folder / "maps.py").write_text(f"from simia_gym.errors import DomainError\n\n\ndef look(domain):\n    {body}\n")
    with (folder / "domain.yaml").open("a", encoding="utf-8") as file:
        file.write("check: maps.py:look\n")
    assert any(says in str(one) for one in check_folder(folder).problems)
