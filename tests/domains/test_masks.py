"""Output that cannot be repeated: declared as masks of its tool, recorded as it was, compared without it."""

from __future__ import annotations

from pathlib import Path

import pytest

from simia_gym.domain.registration import CUSTOM
from simia_gym.errors import InputError
from simia_gym.evaluation.checker import check_folder
from simia_gym.rollout.replay import Proof, replay_file
from simia_gym.rollout.summary import Summary

from ..engine.conftest import edit
from ..proof.stage import suite_of
from .shell import Says, played, rolled, written

DIFFERENCES = ("outcome", "error_code", "observation", "wrong", "missed", "spurious")
PID = "echo pid $$ | tee pid.txt"


def replayed(files: Path, tmp_path: Path, *commands: str) -> Proof:
    roll = rolled(files, tmp_path / "r", lambda: Says(*map(written, commands), "Done."))
    (proof,) = replay_file(roll.path)
    return proof


def test_a_replay_goes_on_from_what_was_recorded(files: Path, tmp_path: Path) -> None:
    proof = replayed(files, tmp_path, PID, "cat pid.txt")
    assert (proof.proven, proof.masked) == (True, 1)


@pytest.mark.parametrize("command", ["echo $$", "echo pid $$; date +%N", f"{PID}; date +%N > now.txt"])
def test_nothing_else_may_differ(files: Path, tmp_path: Path, command: str) -> None:
    assert not replayed(files, tmp_path, command).proven


def test_what_can_be_repeated_is_compared_exactly(files: Path, tmp_path: Path) -> None:
    proof = replayed(files, tmp_path, "echo pid 12", "ls")
    assert (proof.proven, proof.masked) == (True, 0)


def test_the_shadow_and_the_summary_say_what_only_masks_make_equal(files: Path, tmp_path: Path) -> None:
    record = played(files, tmp_path / "r", written(PID), written("ls"), simulator="llm", shadow=True)
    summary = Summary()
    summary.add(record)
    assert summary.shadow == {"answers": 2, "masked": 1, **dict.fromkeys(DIFFERENCES, 0)}


@pytest.mark.slow
def test_the_checker_says_what_only_masks_make_equal(files: Path) -> None:
    edit("tasks/train.jsonl", "echo second >>", "echo pid $$; echo second >>")(files)
    edit("domain.yaml", "generator: expert.py:generate\n", "")(files)  # further tasks would say nothing else
    report = check_folder(files)
    assert report.ok, report.problems
    assert any("'run'" in note and "masks, in 1 gold calls" in note for note in report.notes)


@pytest.mark.parametrize("mask", [r"\d*", "("])
def test_a_mask_that_masks_nothing_or_is_broken_is_found_at_once(files: Path, mask: str) -> None:
    edit("world.py", r"(?<=pid )\d+", mask)(files)
    with pytest.raises(InputError, match="mask"):
        suite_of(CUSTOM, domain=str(files))
