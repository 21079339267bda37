"""How well the reader does on sentences that were labelled before it saw them: precision and recall of each act."""

from __future__ import annotations

from pathlib import Path

import pytest

from simia_gym.language import read

LINES = Path(__file__).with_name("labelled.txt").read_text(encoding="utf-8").splitlines()
SENTENCES = [tuple(line.split(" ", 1)) for line in LINES if not line.startswith("#")]


def does(text: str) -> str:
    """The letters of what a sentence does."""
    reading = read(text)
    found = {"r": "refuse" in reading.acts, "c": bool(reading.claims()), "y": "confirm" in reading.acts}
    return "".join(letter for letter, holds in {**found, "p": bool(reading.promises())}.items() if holds)


def test_there_are_many_sentences_and_each_stands_once() -> None:
    assert len(SENTENCES) >= 400
    assert len({text for _, text in SENTENCES}) == len(SENTENCES)


@pytest.mark.parametrize(
    ("act", "precision", "recall"), [("r", 0.82, 0.78), ("c", 0.96, 0.90), ("y", 1.0, 0.85), ("p", 0.96, 0.85)]
)
def test_precision_and_recall(act: str, precision: float, recall: float) -> None:
    read_so = {text for _, text in SENTENCES if act in does(text)}
    meant = {text for labels, text in SENTENCES if act in labels}
    wrong, missed = read_so - meant, meant - read_so
    assert len(read_so & meant) >= precision * len(read_so), sorted(wrong)
    assert len(read_so & meant) >= recall * len(meant), sorted(missed)
