"""An oracle without data reads neither tasks nor states, and plays what needs none."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from simia_gym.domain.registration import domain_path
from simia_gym.oracle import OracleOptions, OracleServer, serve_in_thread

from .asking import about, about_task, ask, data, human, ledger_prompt, retail, system


def test_without_data_it_answers_where_tasks_and_states_are_not_there(tmp_path: Path) -> None:
    folder = tmp_path / "retail"
    shutil.copytree(domain_path("simia/retail-v0"), folder, ignore=shutil.ignore_patterns("tasks", "state.json"))
    order = {"orders": {"#W1": {"order_id": "#W1"}}}
    with serve_in_thread(OracleOptions(domains=(folder,), data_free=True)) as server:
        got = ask(server, ledger_prompt(retail(), order, "get_order_details", {"order_id": "#W1"}))
    assert got.reply["outcome"] == "ok"


@pytest.mark.parametrize("kind", ["reference", "judge"])
def test_parts_that_need_data_are_refused(blind: OracleServer, kind: str) -> None:
    domain = retail()
    task = domain.tasks["train"][0]
    last = data("call", {"name": "list_all_product_types", "arguments": {}})
    if kind == "judge":
        last = "\n".join((data("record", []), data("criterion", {"id": "goal", "kind": "goal", "question": "?"})))
    got = ask(blind, [system(about(domain), about_task(domain, task)), human(last)])
    assert got.status == 400
    assert "without data" in got.json["error"]["message"]
