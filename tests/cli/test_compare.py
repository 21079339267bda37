"""`simia compare` with records: tables, JSON, report and gate."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import Simia


@pytest.fixture
def records(desk: str, simia: Simia) -> tuple[str, str]:
    """The expert, and an agent that does nothing."""
    for policy in ("expert", "null"):
        simia("rollout", desk, "--policy", policy, "--split", "all", "--out", f"{policy}.jsonl")
    return "expert.jsonl", "null.jsonl"


def test_the_report_holds_what_is_printed_and_every_pair(records: tuple[str, str], simia: Simia) -> None:
    shown = simia("compare", *records)
    assert shown.code == 0
    assert "compared: policy expert | null" in shown.out
    result = simia("compare", *records, "--json", "--report", "r.json")
    report = json.loads(Path("r.json").read_text())
    pairs = report.pop("pairs")
    assert report == {name: value for name, value in result.json.items() if name != "not_passed"}
    assert len(pairs) == report["figures"]["reward"]["n"] > 0
    assert simia("compare", *records, "--report", records[0]).code == 2


@pytest.mark.parametrize(
    ("gate", "code"),
    [
        (("--min-agreement", 0.0), 0),
        (("--min-agreement", 0.5), 1),
        (("--max-flips", 0), 1),
        (("--max-flips", 1000), 0),
    ],
)
@pytest.mark.slow
def test_a_gate_decides_the_exit_code(
    gate: tuple[str, float], code: int, records: tuple[str, str], simia: Simia
) -> None:
    result = simia("compare", *records, *gate, "--json")
    assert (result.code, bool(result.json["not_passed"])) == (code, bool(code))
    assert simia("compare", records[0], records[0], *gate).code == 0


def test_sides_are_two(records: tuple[str, str], simia: Simia) -> None:
    result = simia("compare", records[0])
    assert (result.code, "two sides" in result.err) == (2, True)


def _another_domain(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b'"env":"', b'"env":"other/'))


def _torn(path: Path) -> None:
    first, *others = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join((first[: len(first) // 2], b"\n", *others)))


def _empty(path: Path) -> None:
    path.write_bytes(b"")


def _folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (_another_domain, "the left side is of "),
        (_torn, "null.jsonl:1: not valid JSON"),
        (_empty, "there is no finished episode in it"),
        (_folder, "holds no record"),
    ],
)
@pytest.mark.slow
def test_what_is_wrong_with_a_record_is_one_clear_line(
    spoil: Callable[[Path], None], says: str, records: tuple[str, str], simia: Simia
) -> None:
    spoil(Path(records[1]))
    result = simia("compare", *records)
    assert (result.code, result.out, result.err.count("\n")) == (2, "", 1), result.err
    assert says in result.err
