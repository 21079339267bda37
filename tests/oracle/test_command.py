"""The command `simia serve-oracle` in a process of its own."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from simia_gym.cli.app import run

PROGRAM = [sys.executable, "-c", "from simia_gym.cli import main; main()"]


@contextmanager
def serving(*words: str) -> Iterator[tuple[subprocess.Popen[str], list[str]]]:
    """The running command and its first two lines."""
    with subprocess.Popen(
        [*PROGRAM, "serve-oracle", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        try:
            yield process, [process.stdout.readline() for _ in range(2)]
        finally:
            if process.poll() is None:
                process.kill()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_it_serves_until_it_is_stopped(number: signal.Signals, code: int) -> None:
    with serving("--port", "0", "--without-data") as (process, lines):
        address = lines[0].split()[-1]
        assert "simia rollout" in lines[1]
        assert address in lines[1]
        with urllib.request.urlopen(f"{address}/models", timeout=20) as answer:
            assert json.load(answer)["data"][0]["id"] == "oracle"
        process.send_signal(number)
        out, err = process.communicate(timeout=20)
        assert process.returncode == code
        assert "Stopped after 0 answers." in out
        assert err == ""


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("--fault-rate", "2"), "fault_rate"),
        (("--fault", "smoke"), "smoke"),
        (("--domain", "nowhere"), "nowhere"),
        (("--port", "70000"), "port"),
    ],
)
def test_bad_options_are_one_line_and_exit_code_2(
    words: tuple[str, ...], named: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run(["serve-oracle", *words]) == 2
    err = capfd.readouterr().err
    assert named in err
    assert len(err.splitlines()) == 1
