"""The world from the prompt alone."""

from __future__ import annotations

import pytest

from simia_gym.oracle import OracleServer

from .asking import Messages, about, ask, data, human, ledger_prompt, retail, system


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


@pytest.mark.parametrize(
    ("messages", "words"),
    [
        ([system(data("domain", {"name": "nowhere"})), human(data("state", {}), data("call", {}))], "nowhere"),
        ([system(data("domain", 3)), human(data("state", {}), data("call", {}))], "names no domain"),
        ([system(about(retail())), human(data("state", {}), data("call", []))], "no call"),
        ([system(about(retail())), human(data("state", {"tables": {"a": 1}}), data("call", {"name": "x"}))], "tables"),
        ([system(about(retail())), human(data("call", {"name": "x"}))], "address none"),
        ([system(), human(data("state", {}), data("call", {"name": "x"}))], "'domain'"),
    ],
)
def test_a_prompt_that_makes_no_sense_is_refused_with_the_reason(
    blind: OracleServer, messages: Messages, words: str
) -> None:
    got = ask(blind, messages)
    assert got.status == 400
    assert words in got.json["error"]["message"]
