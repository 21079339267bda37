"""The command line in this process and in real ones, and a domain to try it on."""

from __future__ import annotations

import itertools
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from simia_gym.cli.app import run

HALF = """\
class Half:
    def start(self, start): self.fail = start.seed % 2
    def act(self, messages):
        if self.fail: raise KeyError('odd')
        return ''
"""
PROGRAM = [sys.executable, "-c", "from simia_gym.cli import main; main()"]


@dataclass
class Result:
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out.splitlines()[-1])


Simia = Callable[..., Result]


def tables_of(text: str) -> dict[str, dict[str, dict[str, str]]]:
    """Tables by the heading of their labels, rows by label, cells by heading; of equal headings the last table."""
    lines = text.splitlines()
    found = {}
    for place, line in enumerate(lines):
        if line.startswith("───"):
            headings = re.split(" {2,}", lines[place - 1].strip())
            rows = itertools.takewhile(lambda row: re.search(" {2,}", row) or not row.strip(), lines[place + 1 :])
            cells = [re.split(" {2,}", row.strip()) for row in rows if row.strip()]
            found[headings[0]] = {row[0]: dict(zip(headings[1:], row[1:], strict=True)) for row in cells}
    return found


@pytest.fixture
def simia(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Simia:
    """Run a command in this process, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")

    def call(*words: object) -> Result:
        capfd.readouterr()
        code = run([str(word) for word in words])
        out, err = capfd.readouterr()
        return Result(code, out, err)

    return call


@pytest.fixture
def desk(simia: Simia) -> str:
    """A fresh copy of the example domain, relative to the current folder."""
    assert simia("new-domain", "desk").code == 0
    return "desk"


@pytest.fixture
def start(tmp_path: Path) -> Callable[..., subprocess.Popen[str]]:
    """Start a command as a process of its own."""
    environment = {name: value for name, value in os.environ.items() if name not in ("COLUMNS",)}

    def call(*words: object) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [*PROGRAM, *(str(word) for word in words)],
            cwd=tmp_path,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    return call


@pytest.fixture
def finish(start: Callable[..., subprocess.Popen[str]]) -> Simia:
    """Run a command as a process of its own."""

    def call(*words: object) -> Result:
        process = start(*words)
        out, err = process.communicate(timeout=60)
        return Result(process.returncode, out, err)

    return call
