"""Writes records as a file of results of tau2-bench, for that benchmark's own tools."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from simia_gym.domain.domain import Domain
from simia_gym.domain.tasks import task_from_json
from simia_gym.errors import InputError
from simia_gym.record.finished_episode import LIMITS
from simia_gym.record.records import Record
from simia_gym.types import JsonObject
from simia_gym.version import __version__

_ENDS = {**dict.fromkeys(LIMITS, "max_steps"), "user_stop": "user_stop", "fault": "infrastructure_error"}
"""Our reasons for an end by the benchmark's; all others are the agent's doing."""


def export(domain: Domain, records: Iterable[Record]) -> JsonObject:
    """Records as one file of results: ``export`` of a domain's ``domain.yaml``.

    Records hold no wall times, so times are empty. An action that was no action is the agent's message, and what the
    environment said to it the user's.

    Args:
        domain: The domain, with the benchmark's data.
        records: Records of tasks of that data.

    Returns:
        The benchmark's ``Results`` as JSON values.

    Raises:
        InputError: A task is none of the benchmark's.
    """
    trials: Counter[str] = Counter()
    tasks: dict[str, JsonObject] = {}
    simulations: list[JsonObject] = []
    info: JsonObject = {}
    for record in records:
        if record.task not in tasks:
            tasks[record.task] = _task(domain, record)
        simulations.append(_simulation(record, trials[record.task]))
        trials[record.task] += 1
        info = info or _info(domain, record)
    info["num_trials"] = max(trials.values(), default=0)
    return {"timestamp": None, "info": info, "tasks": [*tasks.values()], "simulations": simulations}


def _info(domain: Domain, record: Record) -> JsonObject:
    start = record.events[0]
    return {
        "git_commit": f"simia-gym {__version__}",
        "num_trials": 0,
        "max_steps": record.config.get("max_turns") or domain.config.max_turns,
        "max_errors": 0,
        "user_info": {"implementation": start["user"], "llm": start.get("models", {}).get("user")},
        "agent_info": {"implementation": record.policy},
        "environment_info": {"domain_name": domain.name, "policy": record.content("system")},
        "seed": None,
    }


def _task(domain: Domain, record: Record) -> JsonObject:
    where = f"record of {record.task}"
    task = task_from_json(record.content("task"), where)
    if domain.data is None or task.kind != "tau2":
        fix = "Roll out with --data DIR, the benchmark's directory for the domain."
        raise InputError("its task is none of the benchmark's", where=where, fix=fix)
    brief, options = task.user or {}, task.options
    instructions = {
        "domain": domain.name,
        "reason_for_call": brief["reason"],
        "known_info": brief["known"],
        "unknown_info": brief["unknown"],
        "task_instructions": brief["instructions"],
    }
    actions = [{"action_id": f"{task.id}_{number}", **action} for number, action in enumerate(task.gold)]
    criteria = {"actions": actions, **{name: list(options[name]) for name in ("communicate_info", "nl_assertions")}}
    return {
        "id": task.id,
        "user_scenario": {"persona": brief.get("persona"), "instructions": instructions},
        "evaluation_criteria": {**criteria, "reward_basis": list(options["reward_basis"]) or ["DB", "COMMUNICATE"]},
    }


def _simulation(record: Record, trial: int) -> JsonObject:
    parts = record.verdict.get("parts") or {}
    checks = {"DB": parts.get("database"), "COMMUNICATE": parts.get("communicate")}
    reward: JsonObject | None = None
    if record.reward is not None:
        database = checks["DB"] == 1.0
        reward = {
            "reward": record.reward,
            "db_check": {"db_match": database, "db_reward": float(database)},
            "reward_basis": [*checks],
            "reward_breakdown": checks,
        }
    return {
        "id": record.key,
        "task_id": record.task,
        "start_time": "",
        "end_time": "",
        "duration": 0.0,
        "termination_reason": _ENDS.get(record.ended, "agent_stop"),
        "reward_info": reward,
        "messages": [{**message, "turn_idx": i, "timestamp": None} for i, message in enumerate(_messages(record))],
        "trial": trial,
        "seed": record.seed,
    }


def _messages(record: Record) -> Iterator[JsonObject]:
    calls: dict[int, list[Any]] = {}
    for event in record.events:
        if event["type"] == "transition" and event["call"] is not None:
            calls.setdefault(event["turn"], []).append({**event["call"], "requestor": "assistant"})
    action = ""
    for event in record.events:
        match event["type"]:
            case "message":
                yield {"role": "user", "content": event["text"]}
            case "action":
                action = event["text"]
            case "answer":
                yield {"role": "assistant", "content": event["text"]}
            case "invalid":
                yield {"role": "assistant", "content": action}
                yield {"role": "user", "content": event["text"]}
            case "transition" if event["call"] is None:
                yield {"role": "assistant", "content": event["say"]}
                yield {"role": "user", "content": event["observation"]}
            case "transition":
                if together := calls.pop(event["turn"], None):
                    yield {"role": "assistant", "content": None, "tool_calls": together}
                yield {
                    "role": "tool",
                    "id": event["call"]["id"],
                    "content": event["observation"],
                    "requestor": "assistant",
                    "error": event["outcome"] == "error",
                }
