"""What results show of themselves in a notebook."""

from __future__ import annotations

from pathlib import Path

from simia_gym import compare
from simia_gym.evaluation.report import make_report
from simia_gym.evaluation.trials import read_series
from simia_gym.types import CriterionResult, Verdict

HOSTILE = "<script>alert(1)</script>"


def test_a_verdict_shows_itself_and_escapes_its_texts() -> None:
    item = CriterionResult("goal", "goal", 1.0, True, 0.0, False, HOSTILE, ())
    html = Verdict(0.0, True, False, 0.0, "rubric:strict", (item,))._repr_html_()
    assert "reward 0" in html
    assert "goal" in html
    assert "<script" not in html
    assert "&lt;script&gt;" in html


def test_reports_and_comparisons_show_themselves(record: Path) -> None:
    series, _ = read_series([record])
    for shown in (make_report(series), compare(record, record)):
        html = shown._repr_html_()
        assert html.startswith("<pre")
        assert "8" in html
