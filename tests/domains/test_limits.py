"""Sizes that a domain and its tools allow hold for code and for models alike."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from simia_gym.domain.registration import CUSTOM
from simia_gym.oracle.options import OracleOptions
from simia_gym.oracle.server import serve_in_thread
from simia_gym.rollout.replay import replay_file

from ..proof.stage import suite_of
from ..rollout.conftest import Roll
from .test_waiting import Says, written


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
def test_code_and_model_keep_the_same_limits(
    files: Path, tmp_path: Path, simulator: str, command: str, code: str | None
) -> None:
    with serve_in_thread(OracleOptions(domains=(str(files),))) as server:
        settings: dict[str, Any] = {"domain": str(files), "split": "test", "simulator": simulator}
        suite = suite_of(CUSTOM, server.base_url if simulator == "llm" else None, **settings)
        roll = Roll(suite, tmp_path / "r.jsonl")
        roll(lambda: Says(written(command), "Done."))
    (record,) = roll.records
    (event,) = (event for event in record.events if event["type"] == "transition")
    assert event["error_code"] == code
    assert record.valid
    assert bool(event["ops"]) is (code is None)
    assert all(proof.proven for proof in replay_file(roll.path))
