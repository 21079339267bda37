"""What the benchmark of a real model counts, with an oracle and with a model that always says the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchmarks.real_model.cells import measure, table
from simia_gym.oracle import OracleOptions, serve_in_thread


@pytest.mark.slow
@pytest.mark.parametrize(("role", "domain"), [("user", "retail"), ("simulator", "webshop"), ("judge", "os")])
def test_an_oracle_is_read_at_once_and_earns_all(role: str, domain: str, tmp_path: Path) -> None:
    with serve_in_thread(OracleOptions()) as server:
        cell = measure(role, domain, model="oracle", url=server.base_url, episodes=2, folder=tmp_path, limit=120)
    assert (cell["ended"], cell["episodes"], cell["faults"], cell["silent_zeros"]) == ("finished", 2, {}, 0)
    assert cell["rewards"] == [1, 1]
    assert set(cell["replies"]) == {"at_once"}
    assert min(cell["tokens"]) > 0
    assert f"| {role} | {domain} | 2 |" in table([cell])


@pytest.mark.slow
def test_a_cell_that_was_stopped_is_added_to(tmp_path: Path) -> None:
    with serve_in_thread(OracleOptions()) as server:
        asked: dict[str, Any] = {"model": "oracle", "url": server.base_url, "folder": tmp_path, "limit": 120}
        cells = [measure("user", "retail", episodes=episodes, **asked) for episodes in (1, 3)]
    assert [(cell["episodes"], cell["added"]) for cell in cells] == [(1, 1), (3, 2)]
    assert cells[1]["tokens"][0] > cells[0]["tokens"][0]
    assert len({path.read_text() for path in tmp_path.glob("user-retail-?.jsonl")}) == 2


@pytest.mark.slow
def test_what_cannot_start_is_no_result(tmp_path: Path) -> None:
    cell = measure("user", "retail", model="m", url="http://127.0.0.1:1/v1", episodes=1, folder=tmp_path, limit=120)
    assert (cell["episodes"], cell["ended"].partition(":")[0]) == (0, "refused")
    assert "retail" not in table([cell])
