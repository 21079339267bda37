"""The command `simia serve-oracle` in a process of its own."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import urllib.request

import pytest

COMMAND = [sys.executable, "-c", "from simia_gym.cli import main; main()", "serve-oracle", "--port", "0"]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
@pytest.mark.slow
def test_it_serves_until_it_is_stopped(number: signal.Signals, code: int) -> None:
    pipe = subprocess.PIPE
    with subprocess.Popen([*COMMAND, "--without-data"], stdout=pipe, stderr=pipe, text=True) as process:
        try:
            assert process.stdout is not None
            address = process.stdout.readline().split()[-1]
            assert address in process.stdout.readline()
            with urllib.request.urlopen(f"{address}/models", timeout=20) as answer:
                assert json.load(answer)["data"][0]["id"] == "oracle"
            process.send_signal(number)
            out, err = process.communicate(timeout=20)
        finally:
            process.kill()
    assert (process.returncode, err) == (code, "")
    assert "Stopped after 0 answers." in out
