"""The world from the prompt alone."""

from __future__ import annotations

import shutil
from pathlib import Path

from simia_gym.domain.registration import domain_path
from simia_gym.oracle import OracleOptions, OracleServer, serve_in_thread

from .asking import ask, data, ledger_prompt, retail, system


def test_the_state_of_the_prompt_counts_and_not_that_of_the_domain(blind: OracleServer) -> None:
    base = retail().base
    key, order = next((key, row) for key, row in base.rows("orders") if row["status"] == "pending")
    user = order["user_id"]
    tables = {"orders": {key: {**order, "status": "processed"}}, "users": {user: base.get("users", user)}}
    call = {"order_id": key, "reason": "no longer needed"}
    reply = ask(blind, ledger_prompt(retail(), tables, "cancel_pending_order", call)).reply
    assert (reply["outcome"], reply["ops"]) == ("error", [])


def test_options_of_the_prompt_reach_the_world(blind: OracleServer) -> None:
    plain = ledger_prompt(retail(), {}, "get_order_details", {})
    quirky = [system(data("domain", {"name": "retail", "version": 1, "options": {"compat": "tau2"}})), plain[1]]
    texts = [ask(blind, prompt).reply["observation"] for prompt in (plain, quirky)]
    assert texts[0] != texts[1]
    assert "RetailTools" in texts[1]


def test_without_data_it_answers_where_tasks_and_states_are_not_there(tmp_path: Path) -> None:
    folder = tmp_path / "retail"
    shutil.copytree(domain_path("simia/retail-v0"), folder, ignore=shutil.ignore_patterns("tasks", "state.json"))
    order = {"orders": {"#W1": {"order_id": "#W1"}}}
    with serve_in_thread(OracleOptions(domains=(folder,), data_free=True)) as server:
        got = ask(server, ledger_prompt(retail(), order, "get_order_details", {"order_id": "#W1"}))
    assert got.reply["outcome"] == "ok"
