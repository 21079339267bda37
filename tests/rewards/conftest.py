"""A folder with programs and grades of somebody's own, good and bad."""

from __future__ import annotations

from pathlib import Path

import pytest

OWN = """
import asyncio

from simia_gym.errors import Fault
from simia_gym.rewards.finding import Evidence, Finding, Grade
from simia_gym.rewards.programs.program import Args
from simia_gym.types import CriterionResult

class HowMany(Args):
    turns: int

def short(finished, args: HowMany):
    return Finding.of(finished.turns <= args.turns, "short enough")

def any_args(finished, args):
    return Finding(args["value"], "as given")

async def waits(finished, args):
    return Finding(await asyncio.sleep(0, 0.5), "after a while")

def broken(finished, args):
    return 1 / 0

def invents(finished, args):
    return Finding.of(True, "made up", [Evidence(0, "nowhere")])

def beyond(finished, args):
    return Finding.of(True, "made up", [Evidence(99, "x")])

def number(finished, args):
    return 1.0

def half(finished):
    return Grade(0.5, {"attributes": 0.5}, reason="Half of it.")

def full(finished):
    return Grade(1.0)

def made_up(finished):
    part = CriterionResult("price", "goal", 1.0, False, 1.0, True, "cheap", (Evidence(0, "nowhere"),))
    return Grade(1.0, criteria=(part,))

def too_much(finished):
    return Grade(7.0)

def sees_state(finished, args):
    return Finding.of(finished.final.get("orders", "#W1") is not None, "it is there")

def sees_record(finished, args):
    return Finding.of(len(finished.calls) == 1, "one call")

def graded(finished):
    return Grade(1.0 if finished.final.get("orders", "#W1")["status"] == "cancelled" else 0.0)

def by_record(finished):
    return Grade(0.5)

def refuses(finished):
    raise Fault("no_state", "I cannot see it", role="judge")

NOT_A_FUNCTION = 3
def unknown_type(finished, args: "NoSuchType"): ...
def one_argument(finished): ...
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "own.py").write_text(OWN, encoding="utf-8")
    return tmp_path
