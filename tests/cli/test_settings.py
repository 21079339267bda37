"""Settings are declared once: a field is found in keyword arguments, options, help, JSON, YAML and records."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import simia_gym

CHECKOUT = Path(__file__).parents[2]
LINE = '    added: int = setting(7, "A setting that a test adds.", metavar="N", ge=1, le=9)\n'
TRY = """
import gymnasium, json, sys, yaml
import simia_gym
from simia_gym.assembly.settings import EnvConfig
from simia_gym.cli.app import run
from simia_gym.errors import InputError

config = gymnasium.make("simia/retail-v0", added=3).unwrapped.suite.config
assert config.added == 3
assert EnvConfig.from_json(json.loads(json.dumps(config.to_json()))) == config
assert EnvConfig.from_json(yaml.safe_load(yaml.safe_dump(config.to_json()))) == config
try:
    EnvConfig("simia/retail-v0", added=10)
except InputError as error:
    assert error.where == "added"
assert run(["rollout", "retail", "--episodes", "1", "--added", "4", "--out", "a.jsonl"]) == 0
assert json.loads(open("a.jsonl").readline())["config"]["added"] == 4
assert run(["rollout", "retail", "--added", "10"]) == 2
assert run(["rollout", "--help"]) == 0
"""


def test_a_new_setting_is_one_line(tmp_path: Path) -> None:
    package = Path(simia_gym.__file__).parent
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(package, tmp_path / "simia_gym", ignore=ignored)
    for name in ("envs", "rewards", "rl"):
        source = package / name if (package / name).is_dir() else CHECKOUT / name
        shutil.copytree(source, tmp_path / "simia_gym" / name, ignore=ignored, dirs_exist_ok=True)
    path = tmp_path / "simia_gym" / "assembly" / "settings.py"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("    def __post_init__", LINE + "\n    def __post_init__", 1), encoding="utf-8")
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n{TRY}"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=tmp_path, env={**os.environ, "COLUMNS": "150"}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert re.search(r"--added +N \[x>=1\] +A setting that a test adds\. \[default: 7\]", done.stdout)
    assert "--added: added is 10" in done.stderr


@pytest.mark.parametrize("command", ["rollout", "evaluate"])
def test_help_shows_no_bound_that_nobody_reaches(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    from simia_gym.cli.app import run

    assert run([command, "--help"]) == 0
    assert "000000" not in capsys.readouterr().out


def test_a_record_of_an_earlier_version_is_read() -> None:
    from simia_gym.assembly.settings import EnvConfig

    old = json.loads('{"env": "simia/retail-v0", "simulator": "replay", "recorded": "r.jsonl"}')
    assert EnvConfig.from_json(old).replay_from == "r.jsonl"
