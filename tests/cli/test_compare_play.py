"""`simia compare ENV`: both sides are played, and what an oracle injects is found."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import simia_gym
from simia_gym.oracle import OracleOptions, serve_in_thread
from simia_gym.record.records import read_records

from .conftest import Simia

RETAIL = ("compare", "simia/retail-v0", "--left", "world", "--out", "out", "--generated", 2, "--json")


def played(simia: Simia, right: str, oracle: OracleOptions, *more: Any) -> tuple[Any, dict[str, int]]:
    with serve_in_thread(oracle) as server:
        models = ("--model", "oracle", "--base-url", server.base_url, "--no-pins")
        result = simia(*RETAIL, "--right", right, *models, *more)
        assert result.code == 0, result.err
        return result.json, server.counts["errors"]


@pytest.mark.slow
def test_a_flawless_model_agrees_with_the_world_and_a_run_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, simia: Simia
) -> None:
    monkeypatch.chdir(tmp_path)
    found, _ = played(simia, "llm", OracleOptions(), "--policies", "expert,expert:0.3", "--min-agreement", 1)
    assert found["compared"]["simulator"] == ["world", "llm"]
    assert [one["policy"] for one in found["policies"]] == ["expert:0.3", "expert"]
    assert found["figures"]["same_episode"]["value"] == found["figures"]["policy_order"]["value"] == 1
    assert found["figures"]["tokens"]["value"] > 0
    assert simia(*RETAIL, "--right", "world").code == 2  # the records are there already
    assert found["figures"]["cost"]["note"].startswith("not applicable")
    prices = ("--role", "simulator.price_in=1", "--role", "simulator.price_out=3")
    priced = simia("compare", "out/left", "out/right", *prices, "--json").json["figures"]["cost"]
    records = [each for name in ("expert", "expert-0.3") for each in read_records(f"out/right/{name}.jsonl")]
    usage = [event["usage"] for each in records for event in each.events if event["type"] == "model"]
    whole = sum(one["prompt"] + 3 * one["completion"] for one in usage) / 1e6
    assert priced["value"] == pytest.approx(whole / priced["n"])
    assert priced["interval"][0] < priced["value"] < priced["interval"][1]
    assert simia("compare", "out/left", "out/right", *prices, "--role", "simulator.seed=false").code == 2
    record = Path("out/right/expert.jsonl")
    lines = record.read_bytes().splitlines(keepends=True)
    record.write_bytes(b"".join(lines[:2]))
    again, _ = played(simia, "llm", OracleOptions(), "--policies", "expert,expert:0.3", "--resume")
    assert again["figures"] == found["figures"]


MISTAKES = {
    "wrong_value": "wrong_writes",
    "missed_write": "missed_writes",
    "spurious_write": "spurious_writes",
    "wrong_observation": "observation",
}


@pytest.mark.parametrize("kind", MISTAKES)
@pytest.mark.slow
def test_what_was_injected_is_found_or_was_repaired(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, simia: Simia
) -> None:
    monkeypatch.chdir(tmp_path)
    rate: dict[str, Any] = {f"{kind}_rate": 0.5}
    oracle = OracleOptions(**rate)
    found, injected = played(simia, "llm,render=model", oracle, "--open-loop")
    figures = found["figures"]
    wrong = figures[MISTAKES[kind]]["count"]
    if kind == "wrong_observation":
        wrong = figures["observation"]["n"] - wrong
    pairs = simia_gym.compare("out/left", "out/right.open-loop").pairs
    assert injected[kind] == wrong + sum(pair.right.repaired for pair in pairs) > 0
    assert (wrong > 0) is (kind != "spurious_write")  # one outside of the tool's write set is always rejected
    assert figures["observation"]["n"] == sum(
        event["type"] == "transition" and event["call"] is not None
        for record in read_records("out/left/expert.jsonl")
        for event in record.events
    )
    assert (found["mode"], figures["final_state"]["value"]) == ("open-loop", None)


def test_drift_goes_on_from_the_own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, simia: Simia) -> None:
    monkeypatch.chdir(tmp_path)
    found, _ = played(simia, "llm", OracleOptions(missed_write_rate=1.0), "--drift", "--max-flips", 99)
    figures = found["figures"]
    assert found["mode"] == "drift"
    assert figures["missed_writes"]["count"] > 0
    assert figures["final_state"]["count"] < figures["final_state"]["n"]
    assert list(found["steps"]) == sorted(found["steps"], key=int)
    assert simia("replay", "out/right.drift/expert.jsonl").code == 1


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--left", "world"), "two sides"),
        (("--left", "wrold", "--right", "llm", "--out", "o"), "'wrold' is no side"),
        (("--left", "world", "--right", "promt=compact", "--out", "o"), "prompt"),
        (("--left", "world", "--right", "llm"), "--out"),
        (("--left", "world", "--right", "world", "--out", "o", "--drift", "--open-loop"), "two ways"),
        (("--left", "world", "--right", "a.jsonl", "--out", "o", "--drift"), "nothing can be forced"),
        (("--left", "recorded", "--right", "world"), "no recorded rollouts are named"),
        (("--left", "world", "--right", "recorded", "--rollouts", "r.jsonl"), "are the left side"),
        (("--left", "recorded", "--right", "llm", "--rollouts", "r.jsonl", "--out", "o"), "has not loaded"),
        (("--left", "recorded", "--right", "world", "--rollouts", "r.jsonl"), "has not loaded the benchmark's data"),
        (("--left", "recorded", "--right", "world", "--rollouts", "r.jsonl", "--drift"), "it needs a record"),
    ],
)
def test_sides_that_cannot_be_played_are_refused(words: tuple[str, ...], says: str, simia: Simia) -> None:
    result = simia("compare", "simia/retail-v0", *words)
    assert result.code == 2
    assert says in result.err
