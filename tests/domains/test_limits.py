"""Sizes that a domain and its tools allow hold for code and for models alike."""

from __future__ import annotations

from pathlib import Path

import pytest

from .shell import played, transitions, written


@pytest.mark.parametrize("simulator", ["world", "llm"])
@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("seq 8000 > big.txt", None),  # 39 kB: more than the domain allows for a value, and the tool allows it
        ("seq 20000 > big.txt", "too_large"),
        ("seq 20000", "too_large"),
        ("for i in $(seq 101); do echo > $i; done", "too_large"),
        (f"echo {'x' * 10_000}", "invalid_arguments"),
    ],
)
@pytest.mark.sampled
def test_code_and_model_keep_the_same_limits(
    files: Path, tmp_path: Path, simulator: str, command: str, code: str | None
) -> None:
    record = played(files, tmp_path / "r", written(command), simulator=simulator)
    (event,) = transitions(record)
    assert event["error_code"] == code
    assert record.valid
    assert bool(event["ops"]) is (code is None)
