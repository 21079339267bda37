"""Settings: each is declared once, as keyword, option with help and bounds, and JSON."""

from __future__ import annotations

from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from simia_gym.cli.options import Typed, with_options
from simia_gym.common.settings import Settings, setting
from simia_gym.errors import InputError

from .conftest import Simia

RETAIL = "simia/retail-v0"
PLACE = ("--base-url", "http://127.0.0.1:9/v1")


class Added(Settings):
    added: int = setting(7, "A setting that a test adds.", metavar="N", ge=1, le=9)


@with_options(Added)
def command(typed: Typed) -> int:
    print(typed.make(Added))
    return 0


def test_a_new_setting_is_one_line() -> None:
    app = typer.Typer()
    app.command()(command)
    runner = CliRunner()
    assert runner.invoke(app, ["--added", "4"], standalone_mode=False).stdout == f"{Added(4)}\n"
    error = runner.invoke(app, ["--added", "10"], standalone_mode=False).exception
    assert isinstance(error, InputError)
    assert error.where == "--added"
    told = " ".join(runner.invoke(app, ["--help"], env={"COLUMNS": "150"}).stdout.split())
    assert "A setting that a test adds. [default: 7]" in told
    assert Added.from_json(Added(4).to_json()) == Added(4)


def test_variables_of_the_environment_are_no_options(simia: Simia, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("MODEL", "m"), ("JUDGE_MODEL", "m"), ("BASE_URL", PLACE[1])):
        monkeypatch.setenv(f"SIMIA_{name}", value)
    assert simia("rollout", RETAIL, "--simulator", "world", "--episodes", 1).code == 0


def test_a_domain_without_code_has_no_expert(desk: str, simia: Simia) -> None:
    manifest = Path(desk, "domain.yaml")
    manifest.write_text(manifest.read_text().replace("  expert:", "  clerk:"))
    result = simia("rollout", desk)
    assert (result.code, result.err.count("\n")) == (2, 1)
    assert "--policy: desk has no expert" in result.err
