"""Plays the judge: decides criteria with the domain's own programs, after executing the record's tool calls again.

The record in the prompt becomes a `FinishedEpisode`: its calls run in the world from the task's initial state, so that
the final state is correct even if a simulator answered wrongly. The verdict on a criterion without a program is
``unsure``, unless its facts name a program: ``{"program": "says", "all": [...]}``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from simia_gym.common.dotted_names import load_object
from simia_gym.common.event_loop import run_sync
from simia_gym.domain.domain import Domain
from simia_gym.domain.world import World
from simia_gym.errors import InputError
from simia_gym.oracle.domains import Domains, KnownDomain
from simia_gym.oracle.reading import ParsedRequest, Refused
from simia_gym.oracle.simulator import read_call, run
from simia_gym.record.finished_episode import FinishedEpisode
from simia_gym.state import State
from simia_gym.types import JsonObject, Task

_READ_CRITERION = "simia_gym.rewards.criteria:read_criterion"
_QUOTE = 160
_MOST_QUOTES = 4


def answer_judge(request: ParsedRequest, domains: Domains, *, lenient: bool) -> JsonObject:
    """Answer whether the last criterion of the prompt is met; a lenient judge answers ``met`` to every criterion.

    Raises:
        Refused: The prompt lacks a block that judging needs, or a block is malformed.
    """
    record, criterion = request.last("record"), request.last("criterion")
    if record is None or criterion is None:
        raise Refused("the prompt has no record with a criterion")
    entries, item = record[1], criterion[1]
    if not isinstance(entries, list) or not isinstance(item, Mapping):
        raise Refused("the block 'record' must be a list and the block 'criterion' an object")
    if lenient:
        return _reply("met", "it looks fine", _quotes(entries, (), item))
    known = domains.named(request.static)
    task = known.task(request.static.need("task"))
    check = _check_of(known, task, item)
    if check is None:
        return _reply("unsure", "no program answers this question", [])
    finding = check.program.function(rebuild(known.domain, known.world, task, entries), check.args)
    if check.program.waits:
        finding = run_sync(finding, inline=False)
    if finding.met is None:
        return _reply("unsure", finding.reason, [])
    return _reply("met" if finding.met else "not_met", finding.reason, _quotes(entries, finding.evidence, item))


def _check_of(known: KnownDomain, task: Task, item: Mapping[str, Any]) -> Any:
    """The program that decides a criterion, with its arguments; ``None`` if there is none."""
    facts = item.get("facts")
    if isinstance(facts, Mapping) and "program" in facts:
        read: Any = load_object(_READ_CRITERION)
        check = {key: value for key, value in facts.items() if not key.startswith("_")}
        try:
            return read({"id": "hint", "kind": "goal", "check": check}, known.domain.folder, lambda _: "facts").check
        except InputError as error:
            raise Refused(f"the facts name no program: {error}") from error
    rubric = getattr(known.reward, "rubric", None)
    if rubric is not None:
        for criterion in rubric.for_task(task.id, task.criteria):
            if criterion.id == item.get("id"):
                return criterion.check if hasattr(criterion.check, "program") else None
    return None


def rebuild(domain: Domain, world: World, task: Task, entries: Sequence[Mapping[str, Any]]) -> FinishedEpisode:
    """Reconstruct the finished episode from the block ``record`` of a prompt by executing its tool calls.

    Raises:
        Refused: The arguments of a call were truncated, so that it cannot be executed again.
    """
    groups: dict[int, list[Mapping[str, Any]]] = {}
    for entry in entries:
        if isinstance(entry.get("event"), int):
            groups.setdefault(entry["event"], []).append(entry)
    state = first = domain.begun(task)
    events: list[JsonObject] = []
    turn, ended = 0, ""
    for index, group in sorted(groups.items()):
        agent = next((entry for entry in group if entry.get("by") == "agent"), {})
        other = next((entry for entry in group if entry.get("by") != "agent"), {})
        event, state = _event(world, state, agent, other)
        if len(events) < index and event["type"] in ("transition", "answer", "invalid"):
            turn += 1  # the record omits the agent's raw text but counts it
            events.append({"i": len(events), "type": "action", "turn": turn, "text": ""})
        while len(events) < index:
            events.append({"i": len(events), "type": "unseen", "turn": turn})
        ended = event["reason"] if event["type"] == "end" else ended
        events.append({"i": index, "turn": turn, **event})
    return FinishedEpisode(
        task=task,
        events=events,
        initial=first,
        final=state,
        ended=ended,
        turns=turn,
        tools=domain.tool_entries,
        uncounted=domain.uncounted,
    )


def _event(world: World, state: State, agent: Mapping[str, Any], other: Mapping[str, Any]) -> tuple[JsonObject, State]:
    """One event of the ledger, and the state after it, from its two entries, either of which may be empty."""
    text, speaker = _whole(other, "text"), str(other.get("by", "tool"))
    if not agent:
        if "ended" in other:
            return {"type": "end", "reason": other["ended"]}, state
        if "outcome" in other:
            return {"type": "invalid", "code": other.get("error_code"), "text": text}, state
        return {"type": "message", "speaker": speaker, "text": text, "ops": [], "meta": {}}, state
    if "answer" in agent:
        return {"type": "answer", "text": _whole(agent, "answer")}, state
    event: JsonObject = {
        "type": "transition",
        "speaker": speaker,
        "call": None,
        "say": None,
        "observation": text,
        "outcome": other.get("outcome", "ok"),
        "error_code": other.get("error_code"),
        "ops": [],
        "meta": {},
    }
    if "call" not in agent:
        return {**event, "say": _whole(agent, "text")}, state
    cut = "left_out" in agent["call"]
    if cut and _changes(world, agent["call"], event["outcome"]):
        raise Refused("the arguments of a call were truncated: it cannot be executed again")
    call = read_call({"name": agent["call"].get("name")} if cut else agent["call"])
    event["call"] = {"name": call.name, "arguments": call.arguments}
    if event["outcome"] == "ok" and not cut:
        transition = run(world, state, call)
        event["ops"] = list(transition.ops or ())
        state = state if transition.state is None else transition.state
    return event, state


def _changes(world: World, call: Mapping[str, Any], outcome: str) -> bool:
    """Whether a call may have changed the state: it succeeded, and its tool's effect is ``write``."""
    tool = world.tools.get(str(call.get("name")))
    return outcome == "ok" and tool is not None and tool.effect == "write"


def _whole(entry: Mapping[str, Any], key: str) -> str:
    """The text of an entry; if its middle was left out, its beginning and end joined."""
    return f"{entry.get(key) or ''}{entry.get('end') or ''}"


def _quotes(entries: Sequence[Any], evidence: Sequence[Any], item: Mapping[str, Any]) -> list[JsonObject]:
    """Verbatim quotes from the record: those of the evidence; without any, the last admissible text."""
    said: dict[int, str] = {}
    inadmissible = ("agent", "user") if item.get("kind") == "goal" else ("agent",)
    for entry in entries:
        if isinstance(entry, Mapping) and entry.get("by") not in inadmissible and isinstance(entry.get("event"), int):
            text = entry.get("text") or entry.get("ended")
            if isinstance(text, str) and text.strip():
                said[entry["event"]] = text
    found: list[JsonObject] = []
    for piece in evidence:
        text = said.get(piece.event)
        if text is not None and len(found) < _MOST_QUOTES:
            found.append({"event": piece.event, "quote": piece.quote if piece.quote in text else text[:_QUOTE]})
    if not found and said:
        last = max(said)
        found.append({"event": last, "quote": said[last][:_QUOTE]})
    return found


def _reply(verdict: str, reason: str, evidence: list[JsonObject]) -> JsonObject:
    return {"verdict": verdict, "reason": reason, "evidence": evidence}
