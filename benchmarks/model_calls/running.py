"""Runs a cell: a new server on one core, the client in a new process on the other."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.model_calls import server
from benchmarks.model_calls.measure import SERVER_CORE, two_cores
from benchmarks.model_calls.plan import PEERS, Cell

_PACKAGE = "benchmarks.model_calls"
_ROOT = Path(__file__).resolve().parents[2]
_PATIENCE = 180
_LINES = 6


class SkippedError(Exception):
    """A cell cannot run on this machine; says why."""


def run_cell(cell: Cell, answers: Mapping[str, Path], peers: Path | None) -> dict[str, Any]:
    """Run one cell.

    Args:
        cell: What to run.
        answers: Files of prepared answers, by name.
        peers: Folder with a virtual environment for each peer.

    Returns:
        The client's measurements and the server's counts.

    Raises:
        SkippedError: A peer is not installed, or failed.
        RuntimeError: Our own run failed.
    """
    python, environ = _python(cell, peers)
    with _served(cell, answers[cell.answers]) as port:
        options = {
            **cell.options,
            "port": port,
            "answers": str(answers[cell.answers]),
            "mean_latency": cell.mean_latency,
        }
        command = [python, "-m", f"{_PACKAGE}.{cell.module}", json.dumps(options)]
        try:
            done = subprocess.run(
                command, cwd=_ROOT, env=environ, capture_output=True, text=True, timeout=_PATIENCE, check=False
            )
        except subprocess.TimeoutExpired:
            raise _failed(cell, f"not finished after {_PATIENCE} s") from None
        lines = done.stdout.strip().splitlines()
        if done.returncode or not lines:
            raise _failed(cell, " | ".join(done.stderr.strip().splitlines()[-_LINES:]))
        result: dict[str, Any] = json.loads(lines[-1])
        return {**result, "server": _stats(port)}


def _failed(cell: Cell, words: str) -> Exception:
    kind = SkippedError if cell.what in PEERS else RuntimeError
    return kind(f"{cell.key}: {words}")


def _python(cell: Cell, peers: Path | None) -> tuple[str, dict[str, str]]:
    environ = {**os.environ, "PYTHONPATH": str(_ROOT)}
    if cell.what not in PEERS:
        return sys.executable, environ
    python = None if peers is None else peers / cell.what / "bin" / "python"
    if peers is None or python is None or not python.exists():
        raise SkippedError("not installed")
    environ.setdefault("TAU2_DATA_DIR", str(peers / "tau2" / "data"))
    return str(python), environ


@contextmanager
def _served(cell: Cell, answers: Path) -> Iterator[int]:
    """Run the server of one cell during the context; yields its port."""
    options = {"answers": answers, "latency": cell.latency, "sigma": cell.sigma, "core": SERVER_CORE}
    listed = [f"--{name}={value}" for name, value in options.items()]
    if cell.poll and two_cores():
        listed.append("--poll")
    process = subprocess.Popen([sys.executable, server.__file__, *listed], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line:
            raise RuntimeError("the mock server did not start")
        yield int(json.loads(line)["port"])
    finally:
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


def _stats(port: int) -> dict[str, Any]:
    from benchmarks.model_calls.server_limit import stats

    found = stats(port)
    if found["misses"]:
        raise RuntimeError(f"the server had no answer for {found['misses']} requests")
    return found
