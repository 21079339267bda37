"""Commands of other packages, and policies that change."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from simia_gym.cli.commands import commands
from simia_gym.errors import InputError
from simia_gym.rollout.pools import load_pool

from ..sweeps import sweep
from .conftest import Simia

CODE = """\
import typer
import simia_gym.errors as errors

app = typer.Typer()

@app.callback(invoke_without_command=True)
def coach(steps: int = typer.Option(1, min=1, help="How many.")) -> None:
    typer.echo(f"trained {steps} steps")

def plain(name: str, loud: bool = False) -> int:
    typer.echo(name.upper() if loud else name)
    return 1

def refuses() -> None:
    raise errors.InputError("no data", where="plain", fix="Bring some.")

nothing = 7
empty = typer.Typer()
"""
POINTS = """\
[simia_gym.commands]
coach = {module}:app
plain = {module}:plain
refuses = {module}:refuses
seven = {module}:nothing
empty = {module}:empty
gone = {module}_gone:app
leaves = {module}_leaves:app
list = {module}:plain

[simia_gym.pools]
broken = {module}_broken:Pool
"""
Install = Callable[[str], str]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Put a made-up package into a folder of the path."""

    def call(name: str) -> str:
        site = tmp_path / f"site-{name}"
        info = site / f"{name}-1.0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(POINTS.format(module=f"{name}_code"))
        (site / f"{name}_code.py").write_text(CODE)
        (site / f"{name}_code_leaves.py").write_text("raise SystemExit(0)\n")
        (site / f"{name}_code_broken.py").write_text("raise ValueError('at import')\n")
        monkeypatch.syspath_prepend(site)
        commands.cache_clear()
        return f"{name}_code"

    yield call
    commands.cache_clear()
    for name in [name for name in sys.modules if name.startswith("fake")]:
        del sys.modules[name]


def test_they_are_named_without_being_loaded_and_run_with_their_own_options(install: Install, simia: Simia) -> None:
    module = install("fakeone")
    shown = simia("--help").out
    assert all(word in shown for word in ("coach", "plain", "gone", "A command of fakeone."))
    assert module not in sys.modules
    assert simia("coach", "--steps", 3).out == "trained 3 steps\n"
    loud = simia("plain", "word", "--loud")
    assert (loud.code, loud.out) == (1, "WORD\n")
    wrong = simia("coach", "--steps", "x")
    assert (wrong.code, "simia coach --help" in wrong.err) == (2, True)
    refused = simia("refuses")
    assert (refused.code, refused.err) == (2, "simia: error: plain: no data. Bring some.\n")


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("gone", "command 'gone': fakethree cannot load it from fakethree_code_gone:app: ModuleNotFoundError"),
        ("leaves", "cannot load it from fakethree_code_leaves:app: SystemExit: 0"),
        ("seven", "fakethree gives a int"),
        ("empty", "cannot load it from fakethree_code:empty: RuntimeError"),
    ],
)
def test_a_broken_one_gives_one_line_and_breaks_nothing_else(
    install: Install, simia: Simia, name: str, says: str
) -> None:
    install("fakethree")
    result = simia(name, "--steps", 3)
    assert result.code == 2
    assert says in result.err
    assert len(result.err.splitlines()) == 1
    assert simia("coach").code == 0
    assert '"simia/retail-v0"' in simia("list", "--json").out  # nobody takes the place of a command of ours


def test_a_pool_that_breaks_is_not_called_missing(install: Install) -> None:
    install("fakesix")
    with pytest.raises(ValueError, match="at import"):
        load_pool("broken")
    with pytest.raises(InputError, match="--none: there is no pool 'none'"):
        load_pool("none")


def test_a_clash_names_both(install: Install, simia: Simia) -> None:
    install("fakefour")
    install("fakefive")
    result = simia("coach")
    assert result.code == 2
    assert "offered by fakefive (fakefive_code:app) and fakefour (fakefour_code:app)" in result.err


POLICY = "class Mine:\n    def act(self, messages):\n        return 'hello'\n"


@pytest.mark.parametrize("base", sweep([False, True], 1))
@pytest.mark.slow
def test_resume_with_another_version_of_the_policy_is_refused(desk: str, finish: Simia, base: bool) -> None:
    words = ["rollout", desk, "--policy", "mine:Mine", "--out", "a.jsonl", "--json"]
    changing = Path("base.py" if base else "mine.py")
    changing.write_text(POLICY)
    if base:
        Path("mine.py").write_text("import base\n\nclass Mine(base.Mine):\n    pass\n")
    assert finish(*words).code == 0
    again = finish(*words, "--resume")
    assert again.json["reused"] == 4
    before = Path("a.jsonl").read_bytes()
    changing.write_text(POLICY.replace("hello", "good-bye"))
    refused = finish(*words, "--resume")
    assert refused.code == 2
    assert "a.jsonl:1: was written with policy_hash='" in refused.err
    assert Path("a.jsonl").read_bytes() == before
