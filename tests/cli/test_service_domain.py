"""The domain of `simia new-domain --kind service`: its tasks, and rules that are proven when tasks are drawn."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from simia_gym.common.dotted_names import load_object
from simia_gym.common.files import Lines
from simia_gym.domain.loading import load_domain
from simia_gym.errors import SimiaError
from simia_gym.record.records import read_records
from simia_gym.service import load_service, write_fixed
from simia_gym.types import Task

from .conftest import Simia
from .service_keys import alter


@pytest.fixture
def lending(simia: Simia) -> Path:
    assert simia("new-domain", "lending", "--kind", "service").code == 0
    return Path("lending").resolve()


def generator(folder: Path) -> Any:
    return load_object("service.yaml:generator", folder=folder)


def test_lending_desk_is_sound_and_its_tasks_are_those_of_its_generator(lending: Path, simia: Simia) -> None:
    value = simia("check", "lending", "--json").json
    assert value["problems"] == []
    made = generator(lending)
    assert made("train", 7) == made("train", 7) != made("test", 7)
    assert list(load_domain(lending).tasks["test"]) == made.fixed("test", 20)


@pytest.fixture
def altered(lending: Path, simia: Simia) -> Path:
    alter(lending)
    write_fixed(generator(lending), lending, 40, 20)
    assert simia("check", "lending", "--write-tools", "--json").json["problems"] == []
    return lending


@pytest.mark.parametrize("policy", ["expert", "pushover"])
@pytest.mark.slow
def test_every_other_key_of_a_declaration(policy: str, altered: Path, simia: Simia) -> None:
    options = ("--domain", "lending", "--split", "train", "--policy", policy, "--out", "run.jsonl", "--json")
    value = simia("rollout", "simia/custom-v0", *options, "--generated", 560).json
    kinds = {kind: row["success_rate"] for kind, row in value["kinds"].items()}
    assert value["valid"] == 600
    assert {"bring_several", "extend", "complaint", "refuse_not_yours", "refuse_extend_late", "impostor"} <= set(kinds)
    assert not {"bring", "complain", "refuse_complain_always", "refuse_return_others", "stranger"} & set(kinds)
    if policy == "expert":
        assert set(kinds.values()) == {1}
    else:
        assert [kinds[name] for name in ("complaint", "refuse_not_yours", "refuse_extend_late", "impostor")] == [0] * 4
        assert kinds["bring_several"] > 0.8


@pytest.mark.parametrize("source", ["rubric.yaml", "own.py:criteria"])
@pytest.mark.slow
def test_criteria_of_ones_own_are_added_to_those_of_the_service(source: str, lending: Path, simia: Simia) -> None:
    items: list[dict[str, Any]] = [
        {"id": "confirmed", "says": "In words of one's own."},
        {"id": "brief", "kind": "format", "check": {"program": "max_turns_used", "max": 1}},
    ]
    service = {item["id"]: item for item in load_domain(lending).rubric}
    (lending / "rubric.yaml").write_text(json.dumps(items))
    (lending / "own.py").write_text(f"def criteria():\n    return {items}\n")
    assert "has it read" in str(simia("check", "lending", "--json").json["notes"])
    with (lending / "domain.yaml").open("a") as file:
        file.write(f"rubric: {source}\n")
    assert simia("check", "lending", "--json").json["problems"] == []
    both = {item["id"]: item for item in load_domain(lending).rubric}
    assert both == {**service, "confirmed": {**service["confirmed"], **items[0]}, "brief": items[1]}
    assert simia("rollout", "lending", "--policy", "expert", "--episodes", 1, "--out", "a.jsonl").code == 0
    (record,) = read_records("a.jsonl")
    assert {item["id"]: item["passed"] for item in record.verdict["criteria"]}.items() >= {
        *dict.fromkeys(service, True).items(),
        ("brief", False),
    }


def test_a_mistaken_criterion_is_named_once_where_all_tasks_are_generated(lending: Path, simia: Simia) -> None:
    (lending / "rubric.yaml").write_text("- {id: x, kind: forbidden, check: {program: unchanged, tables: bokks}}\n")
    manifest = (lending / "domain.yaml").read_text()
    fixed = manifest[manifest.index("tasks:") : manifest.index("samples:")]
    (lending / "domain.yaml").write_text(f"{manifest.replace(fixed, '')}rubric: rubric.yaml\n")
    (problem,) = simia("check", "lending", "--json").json["problems"]
    assert problem["where"].endswith("rubric.yaml:1: criterion 'x'")
    assert "'bokks' names no table" in problem["what"]


def test_tasks_of_kinds_that_are_asked_for(altered: Path) -> None:
    made = generator(altered)
    assert made.kinds["refuse_not_yours"] == [(wish, "others") for wish in ("return", "renew", "due", "extend")]
    assert ("complain", "") not in [pair for pairs in made.kinds.values() for pair in pairs]
    fixed = made.fixed("test", list(made.kinds))
    assert [task.kind for task in fixed] == list(made.kinds)
    assert made.make("again", "test", -1, fixed[0].kind).setup == fixed[0].setup
    by_kind = {task.kind: task for task in fixed}
    bring = by_kind["bring_several"]
    loans = [op["value"] for op in bring.setup if op["path"].startswith("/loans/")][:3]
    titles = [loan["title"] for loan in loans]
    request = bring.user["requests"][0]
    assert request["slots"]["titles"]["say"] == [f"Here are {titles[0]} and {titles[1]}."]
    third = [titles[2], loans[2]["loan_id"]]
    assert request["expect"] == [
        {"slot": "titles", "any": [loan["title"], loan["loan_id"]], "avoid": third} for loan in loans[:2]
    ]
    assert "looked" in [item["id"] for item in bring.criteria]
    late = by_kind["refuse_extend_late"]
    until = {"slot": "until", "any": ["July 1", "2024-07-01"], "avoid": [], "token": "date"}
    assert late.user["requests"][0]["expect"][1] == until
    (refused,) = (item for item in late.criteria if item["id"] == "refused")
    assert refused["weight"] == 4
    assert refused["check"]["about"] == ["July 1"]
    complaint = by_kind["complaint"]
    title = complaint.user["requests"][0]["slots"]["book"]["values"][0]
    assert complaint.gold == ({"name": "fetch_colleague", "arguments": {"summary": f"A complaint about {title}"}},)
    assert by_kind["due"].user["requests"][0]["answer"] == "date"


def test_a_second_wish_about_the_same_rows_is_judged_after_the_first(altered: Path) -> None:
    made = generator(altered)
    extended = 0
    for index in range(12):
        task = made.make(f"after-{index}", "test", index, "due_after")
        due = next(one for one in task.user["requests"] if one["id"] == "due")
        for call in task.gold:
            assert due["slots"]["loan"]["values"] == [call["arguments"]["loan_id"]]
            assert due["told"] == [[call["arguments"]["due"]]]
            extended += 1
    assert extended > 6


def drain(made: Any, count: int) -> None:
    for index in range(count):
        made("train", index)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("fine >= MOST_FINE", "fine > MOST_FINE"),
        ("MOST_RENEWALS = 10", "MOST_RENEWALS = 9"),
        ('["loans"]) >= MOST_LOANS', '["loans"]) > MOST_LOANS'),
        ('["loans"]) >= MOST_LOANS', '["loans"]) >= MOST_LOANS - 1'),
        ('["on_shelf"] < 1', '["on_shelf"] < 2'),
        ('case.slot("weeks") > 2', 'case.slot("weeks") > 1'),
        ('["renewed"] >= MOST_RENEWALS', '["renewed"] > MOST_RENEWALS'),
        ('["holds"]) >= MOST_HOLDS', '["holds"]) > MOST_HOLDS'),
        ('["holds"]) >= MOST_HOLDS', '["holds"]) >= MOST_HOLDS - 1'),
        ('["fine"] <= 0', '["fine"] <= 1'),
    ],
)
def test_moved_threshold_is_noticed(before: str, after: str, lending: Path) -> None:
    rules = lending / "rules.py"
    text = rules.read_text()
    assert before in text
    rules.write_text(text.replace(before, after))
    made = generator(lending)
    with pytest.raises(SimiaError, match="should object"):
        drain(made, 1000)


def test_rule_without_a_breach_does_not_load(lending: Path) -> None:
    declared = lending / "service.yaml"
    declared.write_text(declared.read_text().replace("rule: period", "rule: on_shelf"))
    with pytest.raises(SimiaError, match="no breach of rule 'period'"):
        generator(lending)


def turns(task: Task) -> set[str]:
    """What the customer of a task does."""
    user = task.user or {}
    requests = user["requests"]
    changes = [request["change"] for request in requests if "change" in request]
    return {
        *(["vague"] if user.get("vague") else []),
        *("withdraw" if change.get("withdraw") else "change" for change in changes),
        *("otherwise" for request in requests if request.get("otherwise")),
        *(f"insist {request['insist']}" for request in requests),
    }


@pytest.mark.slow
def test_customers_do_the_same_whatever_the_verdict(lending: Path) -> None:
    made = generator(lending)
    shares: dict[bool, Counter[str]] = {True: Counter(), False: Counter()}
    strangers: set[str] = set()
    for index in range(3000):
        task = made("train", index)
        first = task.user["requests"][0]
        if task.kind == "stranger":
            strangers |= turns(task)
        elif first["id"] == "lend":
            known = shares[task.kind == "lend"]
            known.update(["all", *turns(task), *first["slots"]["weeks"]["values"]])
    allowed, forbidden = shares[True], shares[False]
    assert {"vague", "change", "otherwise", "insist 0", "insist 2"} <= strangers
    assert {"withdraw", "change", "otherwise", "four weeks"} <= allowed.keys() == forbidden.keys()
    assert min(allowed["all"], forbidden["all"]) > 250
    for name in allowed:
        assert abs(allowed[name] / allowed["all"] - forbidden[name] / forbidden["all"]) < 0.06, name


def test_a_breach_changes_no_words_but_by_its_slots(lending: Path) -> None:
    rules = lending / "rules.py"
    told = "for _ in range(count):\n        new_loan(cast, who)"
    assert told in rules.read_text()
    rules.write_text(rules.read_text().replace(told, f"drawn.slots['weeks'] = 4\n    {told}"))
    with pytest.raises(SimiaError, match="changes the slot 'weeks'"):
        drain(generator(lending), 300)


@pytest.mark.parametrize(
    ("before", "after", "place", "what"),
    [
        ("I need a book for longer.", "I need a book for ages.", "wishes.renew.say.0", "hears no wish"),
        ("It is loan {value}.", "It is L-1, or {value}.", "slots.loan.say.1", "reads loan as 'L-1'"),
        ("make it loan {value}", "make it L-1, or {value}", "slots.loan.instead.0", "reads loan as 'L-1'"),
        ("My card number is {value}.", "I reserve {value}.", "slots.card.say.0", "hears the wish 'hold'"),
        ("      nearly_fined: {set: {who: {fine: 9}}}\n", "", "", "`fine >= MOST_FINE - 1`"),
        ("      third: {do: two_loans}\n", "", "", "`len(member(case)['loans']) >= MOST_LOANS - 1`"),
        ("      new_title: {set: {book: {new: true}}, slots: {weeks: 2}}\n", "", "", "case.slot('weeks') >= 2`"),
        ("      just_fined: {rule: small_fine, set: {who: {fine: 10}}}\n", "", "", "`fine > MOST_FINE`"),
    ],
)  # fmt: skip
@pytest.mark.sampled
def test_check_proves_what_customers_say_and_where_rules_begin(
    before: str, after: str, place: str, what: str, lending: Path, simia: Simia
) -> None:
    declared = lending / "service.yaml"
    assert before in declared.read_text()
    declared.write_text(declared.read_text().replace(before, after))
    value = simia("check", "lending", "--json").json
    if place:
        where = Lines(declared).where([int(part) if part.isdigit() else part for part in place.split(".")])
        assert [what in problem["what"] for problem in value["problems"] if problem["where"] == where] == [True]
    else:
        (note,) = (note for note in value["notes"] if "may be" in note)
        assert what in note
        assert "rules.py:" in note


@pytest.mark.slow
def test_an_edge_without_tasks_only_proves_where_a_rule_begins(lending: Path, simia: Simia) -> None:
    declared = lending / "service.yaml"
    text, edge = declared.read_text(), "      nearly_fined: {set: {who: {fine: 9}}}\n"
    assert edge in text
    declared.write_text(text.replace(edge, ""))
    without = [generator(lending)("train", index) for index in range(60)]
    declared.write_text(text.replace(edge, edge.replace("}}}", "}}, tasks: false}")))
    assert [generator(lending)("train", index) for index in range(60)] == without
    assert not [note for note in simia("check", "lending", "--json").json["notes"] if "may be" in note]
    declared.write_text(text.replace(edge, edge.replace("9}}}", "10}}, tasks: false}")))
    (problem,) = simia("check", "lending", "--json").json["problems"]
    assert problem["where"].endswith("wishes.lend.edges.nearly_fined")
    assert problem["what"] == "no rule should object, but small_fine did"


def test_a_service_sees_an_edit_of_any_file(lending: Path) -> None:
    tables = load_service(lending).tables
    assert load_service(lending) is load_service(lending)
    path = lending / "state.json"
    text = path.read_text()
    table, rows = next(iter(json.loads(text).items()))
    key = next(iter(rows))
    path.write_text(text.replace(f'"{key}"', f'"{key[::-1]}"'))
    assert key in tables[table]
    assert key not in load_service(lending).tables[table]
