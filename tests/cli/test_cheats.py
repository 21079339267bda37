"""`simia check --cheats`: a cheat that pays, or a twin that fails, is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from ..sweeps import sweep
from .conftest import Simia

MODULE = '''
from simia_gym.service import Bent


class Says(Bent):
    words = ""

    def bend(self, moment, step):
        return [self.words.format(step)] if moment == "refuse" and self.words else [step]


class Honest(Says):
    """Says that nothing was changed."""
    words = "{} Nothing was changed."


class Liar(Says):
    """Puts the customer off where it has to refuse."""
    words = "Please hold on while I look at it."
    twin = Honest


class Harmless(Honest):
    """Says something harmless."""
    twin = Honest


class Wronged(Liar):
    """Puts the customer off, and so does its twin."""
    twin = Liar


class Idle(Says):
    """Never does anything."""
    twin = Honest


CHEATS = [CHEAT]
'''


@pytest.fixture(scope="module")
def lending(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from simia_gym.cli.app import run

    folder = tmp_path_factory.mktemp("cheats") / "lending"
    assert run(["new-domain", str(folder), "--kind", "service"]) == 0
    return folder


@pytest.mark.parametrize(
    ("cheat", "code", "problem"),
    sweep([("Liar", 0, ""), ("Harmless", 1, "it succeeds in"), ("Wronged", 1, "its twin fails"), ("Idle", 0, "")], 1),
)
@pytest.mark.slow
def test_what_a_cheat_earns(cheat: str, code: int, problem: str, lending: Path, simia: Simia) -> None:
    Path("mine.py").write_text(MODULE.replace("CHEATS = [CHEAT]", f"CHEATS = [{cheat}]"))
    told, as_json = (
        simia("check", lending, "--cheats", "mine.py"),
        simia("check", lending, "--cheats", "mine.py", "--json"),
    )
    assert (told.code, as_json.code) == (code, code)
    (score,) = as_json.json["cheats"]
    assert (score["bent"] > 10) == (cheat != "Idle")
    assert score["cheat"] in told.out
    problems = [item["what"] for item in as_json.json["problems"]]
    assert len(problems) == code
    assert all(problem in what for what in problems)
    assert ("nothing was measured" in told.out) == (cheat == "Idle")


@pytest.mark.parametrize(
    ("module", "text", "said"),
    [
        ("nowhere", "", "there is no module 'nowhere'"),
        ("nowhere.py", "", "there is no file"),
        ("my cheats", "", "names no object"),
        ("listless", "x = 1", "has no 'CHEATS'"),
        ("mine.py", "CHEATS = []", "is empty"),
        ("mine.py", "CHEATS = [1]", "is no class"),
        ("mine.py", "class A:\n    def act(self, messages): return ''\nCHEATS = [A]", "A has no twin"),
        ("mine.py", "class A:\n    twin = 1\n    def act(self, messages): return ''\nCHEATS = [A]", "the twin of A"),
        ("mine.py", "\n1 / 0", "line 2: ZeroDivisionError"),
    ],
)
def test_what_is_no_list_of_cheats(module: str, text: str, said: str, lending: Path, simia: Simia) -> None:
    for name in ("mine.py", "listless.py"):
        Path(name).write_text(text)
    result = simia("check", lending, "--cheats", module)
    assert (result.code, len(result.err.splitlines())) == (2, 1)
    assert said in result.err


@pytest.mark.slow
def test_a_cheat_that_raises_is_named(lending: Path, simia: Simia) -> None:
    text = "class A:\n    def act(self, messages): return 1 / 0\nA.twin = A\nCHEATS = [A]"
    Path("mine.py").write_text(text)
    result = simia("check", lending, "--cheats", "mine.py", "--json")
    (problem,) = result.json["problems"]
    assert (result.code, "ZeroDivisionError" in problem["what"], "A, task" in problem["where"]) == (1, True, True)


def test_the_expert_of_a_service_is_bent_in_services_only(desk: str, simia: Simia) -> None:
    Path("mine.py").write_text(MODULE.replace("CHEATS = [CHEAT]", "CHEATS = [Liar]"))
    (problem,) = simia("check", desk, "--cheats", "mine.py", "--json").json["problems"]
    assert "declares none" in problem["what"]


@pytest.mark.parametrize("turns", sweep(["step", "None", "[]"], 1))
@pytest.mark.slow
def test_a_cheat_that_returns_no_list_of_turns_is_named(turns: str, lending: Path, simia: Simia) -> None:
    text = MODULE.replace("[self.words.format(step)]", turns)
    Path("mine.py").write_text(text.replace("CHEATS = [CHEAT]", "CHEATS = [Liar]"))
    (problem,) = simia("check", lending, "--cheats", "mine.py", "--json").json["problems"]
    assert "Liar: bend('refuse', ...) gave" in problem["what"]
