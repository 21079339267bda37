"""An oracle without data reads neither tasks nor states, and plays what needs none."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from simia_gym.oracle import OracleServer

from .asking import about, about_task, ask, data, human, ledger_prompt, retail, system

OPENED = """
import builtins, io, json, sys
opened = []
real_open, real_io = builtins.open, io.open
def note(file, *args, **kwargs):
    opened.append(str(file))
    return real_io(file, *args, **kwargs)
builtins.open = io.open = note
sys.addaudithook(lambda event, args: opened.append(str(args[0])) if event == "open" else None)
from simia_gym.oracle.answering import Oracle
from simia_gym.oracle.options import OracleOptions
oracle = Oracle(OracleOptions(data_free=sys.argv[2] == "free"))
body = open(sys.argv[1], "rb").read()
print(oracle.answer(body, oracle.fate(body).chance).text, file=sys.stderr)
print(json.dumps([name for name in opened if "/tasks/" in name or name.endswith(("state.json"))]))
"""


@pytest.mark.parametrize("mode", ["free", "full"])
def test_without_data_no_task_and_no_state_is_opened(tmp_path: Path, mode: str) -> None:
    domain = retail()
    prompt = ledger_prompt(domain, {"orders": {"#W1": {"order_id": "#W1"}}}, "get_order_details", {"order_id": "#W1"})
    if mode == "full":  # the probe must notice data that is read
        call = data("call", {"name": "list_all_product_types", "arguments": {}})
        prompt = [system(about(domain), about_task(domain, domain.tasks["train"][0])), human(call)]
    file = tmp_path / "body.json"
    file.write_text(json.dumps({"model": "m", "messages": prompt}))
    done = subprocess.run(
        [sys.executable, "-c", OPENED, str(file), mode], capture_output=True, text=True, check=True, timeout=60
    )
    assert json.loads(done.stderr.splitlines()[-1])["outcome"] == "ok"
    opened = json.loads(done.stdout.splitlines()[-1])
    assert any(name.endswith("state.json") for name in opened) if mode == "full" else opened == []


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
