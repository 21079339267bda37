"""The own databases of both worlds, and the public benchmark's with its recorded episodes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from simia_gym.cli.app import run as simia
from simia_gym.common.dotted_names import load_object
from simia_gym.domain.domain import Domain
from simia_gym.domain.loading import load_domain
from simia_gym.envs._tau2.recorded import verify_rollouts
from simia_gym.oracle import serve_in_thread
from simia_gym.state import State

from .test_slices import FOLDERS, OWN


def assert_sound(domain: Domain, rows: dict[str, int]) -> None:
    """A database has so many rows, fits its schema, and keeps its invariants."""
    state, schema = domain.base, domain.state_schema
    assert schema is not None
    assert {table: state.count(table) for table in rows} == rows
    assert list(schema.problems(state, [(table, key) for table in state.tables for key in state.keys(table)])) == []


@pytest.mark.parametrize("name", OWN)
def test_the_own_database_keeps_its_rules(name: str) -> None:
    domain = load_domain(FOLDERS[name])
    assert json.loads((FOLDERS[name] / "state.json").read_text()).keys() == OWN[name].ROWS.keys()
    assert_sound(domain, OWN[name].ROWS)


@pytest.mark.parametrize("name", OWN)
def test_nothing_of_the_public_database_is_in_it(name: str, shared_data: Path) -> None:
    public = json.loads((shared_data / "tau2" / name / "db.json").read_text())
    ours = load_domain(FOLDERS[name]).base.to_tables()
    assert len(public.keys() & ours.keys()) == 3
    for table in public.keys() & ours.keys():
        assert not set(ours[table]) & set(public[table])
    emails = [{user["email"] for user in tables["users"].values()} for tables in (ours, public)]
    assert not emails[0] & emails[1]


@pytest.mark.parametrize(("name", "rule"), [(name, rule) for name, own in OWN.items() for rule in own.BROKEN])
def test_invariants_notice(name: str, rule: str) -> None:
    tables: Any = json.loads((FOLDERS[name] / "state.json").read_text())
    table, status = OWN[name].SOUND
    key, row = next((key, row) for key, row in tables[table].items() if row["status"] == status)
    OWN[name].BROKEN[rule](row, tables["users"][row["user_id"]])
    check: Any = load_object(f"simia_gym.envs.{name}.invariants:{rule}")
    assert len(list(check(State.from_tables(tables), [(table, key), ("users", row["user_id"])]))) == 1


@pytest.mark.parametrize("name", OWN)
def test_recorded_episodes_run_again_on_the_benchmarks_database(name: str, shared_data: Path) -> None:
    domain, recorded = load_domain(FOLDERS[name], data=shared_data / "tau2" / name), OWN[name].RECORDED
    assert_sound(domain, OWN[name].ROWS_OF_BENCHMARK)
    found = verify_rollouts(domain, rollouts=shared_data / "rollouts" / f"{name}_tau2.jsonl")
    assert (found["agree"], found["differences"], found["mismatches"]) == (True, [], 0)
    assert found["pairs"] == found["identical"] == recorded["pairs"]
    assert found["episodes"] == found["outcome_checked"] == found["outcome_agree"] == recorded["episodes"]


@pytest.mark.parametrize("name", OWN)
def test_recorded_episodes_are_a_side_that_agrees_in_everything(
    name: str, shared_data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["compare", f"simia/{name}-v0", "--left", "recorded", "--right", "world", "--min-agreement", "1", "--json"]
    words += ["--data", str(shared_data / "tau2" / name)]
    assert simia([*words, "--rollouts", str(shared_data / "rollouts" / f"{name}_tau2.jsonl"), "--max-flips", "0"]) == 0
    found, recorded = json.loads(capsys.readouterr().out), OWN[name].RECORDED
    figures = found["figures"]
    assert found["compared"] == {"simulator": ["recorded", "world"]}
    assert figures["observation"]["count"] == figures["observation"]["n"] == recorded["pairs"]
    assert figures["reward"]["count"] == figures["reward"]["n"] == recorded["episodes"]
    assert figures["kappa"]["value"] == figures["same_episode"]["value"] == 1
    for figure in ("error_code", "changes", "final_state", "user_reply", "tokens"):
        assert figures[figure]["note"].startswith("not applicable")


@pytest.mark.parametrize("name", OWN)
def test_a_model_is_compared_with_recorded_episodes(
    name: str, shared_data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recorded = OWN[name].RECORDED
    words = ["compare", f"simia/{name}-v0", "--left", "recorded", "--right", "llm", "--open-loop", "--json"]
    words += ["--data", str(shared_data / "tau2" / name), "--out", str(tmp_path), "--model", "oracle"]
    with serve_in_thread() as server:
        rollouts = str(shared_data / "rollouts" / f"{name}_tau2.jsonl")
        assert simia([*words, "--rollouts", rollouts, "--base-url", server.base_url]) in (0, 1)
    found = json.loads(capsys.readouterr().out)
    figures, faults = found["figures"], found["right"]["invalid"]
    assert found["left"]["invalid"] == 0
    assert faults <= 3  # the benchmark's own answer breaks a rule of the shop, and so it is refused
    assert figures["observation"]["count"] == figures["observation"]["n"] == figures["changes"]["count"]
    assert recorded["pairs"] - 2 * faults <= figures["observation"]["n"] <= recorded["pairs"]
    assert figures["reward"]["count"] == figures["reward"]["n"] == recorded["episodes"] - faults
