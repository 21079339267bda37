"""Three recorded tasks in the form of the release; sites and words are made up."""

from __future__ import annotations

import json
from typing import Any


def _node(number: Any, tag: Any, text: Any = "", inner: Any = "", **attributes: Any) -> Any:
    marks = "".join(f' {name}="{value}"' for name, value in attributes.items())
    words = f'<text backend_node_id="{number}9">{text}</text>' if text else ""
    return f'<{tag} backend_node_id="{number}"{marks}>{words}{inner}</{tag}>'


def _candidate(number: Any, tag: Any, right: Any = False, **attributes: Any) -> Any:
    row = {"tag": tag, "attributes": json.dumps({"backend_node_id": str(number), **attributes}),
           "backend_node_id": str(number)}  # fmt: skip
    return {**row, "is_original_target": True, "is_top_level_target": True} if right else row


def _action(task: Any, index: Any, op: Any, value: Any, right: Any, page: Any = None) -> Any:
    buttons = "".join(_node(n, "button", f"Button {n}", name=f"b{n}") for n in range(10, 17))
    page = page or _node(1, "html", inner=_node(2, "body", inner=buttons + _node(20, "select", "Branch")))
    return {
        "action_uid": f"{task}-u{index}",
        "raw_html": '<html>"quoted" [ { \\ ' + "x" * 2000 + "</html>",
        "cleaned_html": page,
        "operation": {"op": {"HOVER": "CLICK"}.get(op, op), "original_op": op, "value": value},
        "pos_candidates": [_candidate(n, "button", True) for n in right],
        "neg_candidates": [_candidate(n, "button") for n in (*range(10, 17), 20) if n not in right],
    }


def tasks() -> Any:
    plans = {
        "loan": ("Extend the loan at the East branch",
                 [("CLICK", "", [12]), ("SELECT", "East branch", [20]), ("HOVER", "", [13, 14])]),
        "soup": ("Find a soup without onions", [("TYPE", "soup without onions", [10]), ("CLICK", "", [])]),
        "parcel": ("Stop the parcel", [("CLICK", "", [16])]),
    }  # fmt: skip
    return [
        {
            "website": f"{name}-site", "domain": "Service", "subdomain": "Own", "annotation_id": name,
            "confirmed_task": words,
            "action_reprs": [f"[button]  Button {i} -> {op}" + (f": {value}" if value else "")
                             for i, (op, value, _) in enumerate(steps)],
            "actions": [_action(name, i, *step) for i, step in enumerate(steps)],
        }
        for name, (words, steps) in plans.items()
    ]  # fmt: skip


def rows() -> Any:
    """The same as rows of one action each; the last action first."""
    for task in tasks():
        for index, action in reversed(list(enumerate(task["actions"]))):
            lists = {name: [json.dumps(row) for row in action[name]] for name in ("pos_candidates", "neg_candidates")}
            known = {name: value for name, value in task.items() if name != "actions"}
            yield {**known, **action, **lists, "operation": json.dumps(action["operation"]),
                   "target_action_index": str(index), "target_action_reprs": task["action_reprs"][index],
                   "screenshot": None}  # fmt: skip
