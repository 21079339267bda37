"""Faults on the way: each kind looks on the wire as it does in life."""

from __future__ import annotations

import http.client
import json
import socket

import pytest

from simia_gym.oracle import FaultKind, OracleOptions, serve_in_thread

from .asking import Got, ask, ledger_prompt, retail

PROMPT = ledger_prompt(retail(), {}, "get_order_details", {"order_id": "#W1"})


def always(kind: FaultKind, hang: float = 0.2) -> OracleOptions:
    return OracleOptions(data_free=True, fault_rate=1.0, faults=(kind,), hang=hang)


def broken(kind: FaultKind) -> Got:
    with serve_in_thread(always(kind)) as server:
        got = ask(server, PROMPT)
        assert server.counts["faults"] == {kind: 1}
        return got


@pytest.mark.parametrize(
    ("kind", "status", "begins", "is_json"),
    [
        ("rate_limit", 429, '{"error"', True),
        ("malformed", 200, '{"id"', False),
        ("empty", 200, '{"id"', True),
        ("cut", 200, '{"id"', True),
    ],
)
def test_a_fault_as_it_is_answered(kind: FaultKind, status: int, begins: str, is_json: bool) -> None:
    got = broken(kind)
    assert got.status == status
    assert got.headers["Content-Type"].startswith("application/json")
    assert got.body.decode().startswith(begins)
    if not is_json:
        with pytest.raises(ValueError, match=r"."):
            json.loads(got.body)
    elif status == 429:
        assert got.headers["Retry-After"] == "0"
        assert got.json["error"]["code"] == "rate_limit_exceeded"
    elif kind == "cut":
        assert got.text.startswith('{"outcome"')
        with pytest.raises(ValueError, match=r"."):
            json.loads(got.text)
    else:
        assert got.text == ""


def test_server_error_is_500_or_503() -> None:
    with serve_in_thread(always("server_error")) as server:
        statuses = {ask(server, PROMPT, seed=seed).status for seed in range(20)}
    assert statuses == {500, 503}


@pytest.mark.parametrize(
    ("kind", "error"),
    [("truncated", http.client.IncompleteRead), ("reset", ConnectionResetError), ("hang", ConnectionError)],
)
def test_a_fault_of_the_connection(kind: FaultKind, error: type[Exception]) -> None:
    with serve_in_thread(always(kind)) as server, pytest.raises(error):
        ask(server, PROMPT)


def test_hang_outlasts_the_patience_of_a_client() -> None:
    # An hour: the test ends before that only if stopping the server lets go of the connection.
    with serve_in_thread(always("hang", hang=3600)) as server, pytest.raises(socket.timeout):
        ask(server, PROMPT, timeout=0.3)


def test_the_rate_is_met_and_repeats_with_the_seed() -> None:
    kinds: tuple[FaultKind, ...] = ("rate_limit", "server_error")
    runs, faults = [], []
    for seed in (5, 5, 6):
        with serve_in_thread(OracleOptions(data_free=True, fault_rate=0.2, faults=kinds, seed=seed)) as server:
            runs.append([ask(server, PROMPT, seed=number // 2).status for number in range(200)])
            faults.append(server.counts["faults"])
    assert runs[0] == runs[1] != runs[2]
    assert faults[0] == faults[1]
    assert 20 < sum(faults[0].values()) < 60
    assert set(faults[0]) == set(kinds)
    assert runs[0].count(200) + sum(faults[0].values()) == 200
    assert any(runs[0][i] != runs[0][i + 1] for i in range(0, 200, 2))  # a repeated request has a chance of its own
