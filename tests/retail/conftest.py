"""Data in the layout of tau2-bench."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from simia_gym.envs.retail.build import load_tables
from simia_gym.types import JsonObject


def make_task(task_id: str, actions: list[JsonObject], told: list[str]) -> JsonObject:
    return {
        "id": task_id,
        "user_scenario": {
            "persona": None,
            "instructions": {
                "domain": "retail",
                "reason_for_call": "Cancel an order.",
                "known_info": "A name.",
                "unknown_info": None,
                "task_instructions": "Be brief.",
            },
        },
        "initial_state": None,
        "evaluation_criteria": {"actions": actions, "communicate_info": told, "reward_basis": ["DB"]},
    }


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """A directory in the benchmark's layout with data of our own: no optional fields, whole numbers as amounts."""
    tables = load_tables()
    for order in tables["orders"].values():
        for name in list(order)[7:]:
            del order[name]
    order = next(order for order in tables["orders"].values() if order["status"] == "pending")
    order["payment_history"][0]["amount"] = 47
    (tmp_path / "db.json").write_text(json.dumps(tables))
    (tmp_path / "policy.md").write_text("Be nice.")
    (tmp_path / "tools.json").write_text("[]")
    cancel = {
        "name": "cancel_pending_order",
        "arguments": {"order_id": order["order_id"], "reason": "no longer needed"},
    }
    broken = {"name": "get_user_details", "arguments": {"user_id": "nobody"}}
    lines = [make_task("0", [broken, cancel], ["47"]), make_task("1", [], [])]
    (tmp_path / "tasks_train.jsonl").write_text("\n".join(json.dumps(line) for line in lines))
    (tmp_path / "tasks_test.jsonl").write_text(json.dumps(make_task("2", [], [])) + "\n\n")
    return tmp_path
