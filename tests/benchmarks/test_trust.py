"""The page of trust says what was measured."""

from __future__ import annotations

import json
from pathlib import Path

from benchmarks.trust import found_of, page_rows
from simia_gym.domain.registration import domain_folders

ROOT = Path(__file__).parents[2]


def test_every_stored_figure_stands_on_the_page() -> None:
    found = json.loads((ROOT / "benchmarks/results/trust.json").read_text(encoding="utf-8"))
    page = (ROOT / "docs/trust.md").read_text(encoding="utf-8")
    assert [row for row in page_rows(found) if row not in page] == []
    assert [row["command"] for row in found["rows"] if row["command"] not in page.replace(" \\\n    ", " ")] == []
    assert {row["env"] for row in found["rows"] if row["row"] == "itself"} == set(domain_folders())
    for row in found["rows"]:
        if row["row"] in ("itself", "recorded"):
            assert row["figures"]["observation"]["value"] == row["figures"]["reward"]["value"] == 1
        if row["row"] == "injected":  # what was accepted is found, what was rejected is counted as repaired
            assert row["stubborn"] or row["injected"] == found_of(row) + row["repaired"]
