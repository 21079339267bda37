"""How often the criteria on an agent's conduct fire on recorded agents whose real reward is 1.

    python benchmarks/conduct_alarms.py DIR [--failed]

DIR holds recordings as JSONL, per line ``domain, id, reward, messages``: real agents and customers, in retail and the
airline of tau2-bench. Every firing is printed with the words that caused it.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from simia_gym.assembly.settings import EnvConfig
from simia_gym.assembly.suite import load_suite
from simia_gym.language import read
from simia_gym.record.finished_episode import FinishedEpisode
from simia_gym.rewards.finding import Finding
from simia_gym.rewards.programs.builtin import PROGRAMS
from simia_gym.rewards.programs.program import find_program
from simia_gym.state import State
from simia_gym.types import JsonObject, Task

AIRLINE: Mapping[str, JsonObject] = {
    "confirmed": {
        "program": "confirmed_writes",
        "binds": {
            "cancel_reservation": ["reservation_id"],
            "update_reservation_flights": ["reservation_id"],
            "update_reservation_baggages": ["reservation_id"],
            "update_reservation_passengers": ["reservation_id"],
            "book_reservation": ["flights"],
            "send_certificate": ["amount"],
        },
        "named_by": ["name", "brand", "last_four", "source", "flight_number"],
        "original_in": "payment_history",
        "prices": [30, 50, 100],
    },
    "backed": {
        "program": "simia_gym.rewards.backed:backed",
        "deeds": {
            "cancelled": ["cancel_reservation"],
            "canceled": ["cancel_reservation"],
            "booked": ["book_reservation"],
        },
        "deadlines": ["24 hours", "5 to 7 business days"],
        "ids": r"\b(?=[a-z]*\d)(?=\d*[a-z])[a-z0-9]{6}\b|\b(?:credit_card|gift_card|certificate)_\d+\b",
    },
}
"""What the airline's rubric would check; the world of the recordings is not needed for it."""
READS = ("get_", "find_", "search_", "list_", "calculate", "think", "transfer_")


def recorded(folder: Path) -> Iterator[JsonObject]:
    """The recorded episodes."""
    for path in sorted(folder.glob("*.jsonl")):
        with path.open(encoding="utf-8") as file:
            yield from map(json.loads, file)


def finished(episode: JsonObject) -> FinishedEpisode:
    """A recorded episode as the criteria see it, without states."""
    events: list[JsonObject] = []
    pending: list[JsonObject] = []
    said: str | None = None
    turn = 0
    for message in episode["messages"]:
        role, content = message["role"], message.get("content") or ""
        if role == "assistant":
            turn += 1
            calls = message.get("tool_calls") or []
            pending += [{"name": call["name"], "arguments": call["arguments"]} for call in calls]
            said = content if content and not calls else said
        elif role == "tool":
            call = pending.pop(0)
            outcome = "error" if content.startswith("Error") else "ok"
            events.append(_event(len(events), turn, "tool", call=call, observation=content, outcome=outcome))
        elif role == "user":
            events.append(_event(len(events), turn, "user", say=said, observation=content))
            said = None
    if said is not None:
        events.append({"i": len(events), "type": "answer", "turn": turn, "text": said})
    names = {event["call"]["name"] for event in events if event.get("call")}
    tools = {name: {"x-simia": {"effect": "read" if name.startswith(READS) else "write"}} for name in names}
    empty = State.from_tables({})
    task = Task(id=str(episode["id"]), split="train", kind="recorded")
    return FinishedEpisode(task, events, empty, empty, "user_stop", turn, tools)


def _event(i: int, turn: int, speaker: str, **more: Any) -> JsonObject:
    base = {"i": i, "type": "transition", "turn": turn, "speaker": speaker, "call": None, "say": None, "ops": []}
    return {**base, "outcome": "ok", "end": None, "meta": {}, **more}


@lru_cache
def checks(domain: str) -> Mapping[str, JsonObject]:
    """The criteria on conduct: those of retail's rubric, and what the airline's would be."""
    if domain == "airline":
        return AIRLINE
    items = {item["id"]: dict(item["check"]) for item in load_suite(EnvConfig(env="simia/retail-v0")).domain.rubric}
    return {name: items[name] for name in ("confirmed", "backed")}


def alarms(episode: JsonObject) -> Iterator[tuple[str, Finding]]:
    """The criteria on conduct that fire on an episode."""
    seen = finished(episode)
    for name, check in checks(episode["domain"]).items():
        program = find_program(PROGRAMS, check["program"], folder=None, where=name)
        given = {key: value for key, value in check.items() if key != "program"}
        finding: Finding = program.function(seen, program.read_args(given, lambda path: "rubric"))
        if not finding.met:
            yield name, finding


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--failed", action="store_true", help="the episodes with another reward instead")
    args = parser.parse_args()
    episodes = [one for one in recorded(args.folder) if (one["reward"] == 1) != args.failed]
    fired = 0
    for episode in episodes:
        found = list(alarms(episode))
        fired += bool(found)
        for name, finding in found:
            quote = finding.evidence[-1].quote if finding.evidence else ""
            print(f"{episode['domain']} {episode['id']}  {name}: {finding.reason}\n    {quote!r}")
    timed = sum(any(read(told.text).deadlines for told in finished(one).agent_turns) for one in episodes)
    print(f"{fired} of {len(episodes)} episodes; {timed} state a deadline")


if __name__ == "__main__":
    main()
