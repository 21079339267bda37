"""Criteria judged by the domain's own programs, on the record of the prompt."""

from __future__ import annotations

from typing import Any

import pytest

from simia_gym.domain.domain import Domain
from simia_gym.episode import Episode
from simia_gym.oracle import OracleServer
from simia_gym.record.finished_episode import FinishedEpisode
from simia_gym.rewards.judge.judge_record import judge_record
from simia_gym.types import CriterionResult, JsonObject, Task

from ..proof.stage import played, suite_of
from .asking import Messages, about, about_task, ask, data, human, retail, system


def record_of(episode: Episode, task: Task) -> list[JsonObject]:
    """The record of an episode as a judge is shown it."""
    events, ended, tools = episode.ledger.events, str(episode.ended), episode.domain.tool_entries
    return judge_record(FinishedEpisode(task, events, episode.initial, episode.state, ended, episode.turn, tools))


def prompt(domain: Domain, task: Task, record: Any, criterion: JsonObject) -> Messages:
    return [
        system(about(domain), about_task(domain, task)),
        human(data("record", record), data("criterion", {"question": "Is it so?", **criterion})),
    ]


@pytest.mark.parametrize("policy", ["expert", "pushover", "claimer"])
@pytest.mark.slow
def test_verdicts_are_those_of_the_programs(oracle: OracleServer, policy: str) -> None:
    suite = suite_of("simia/retail-v0", split="all")
    domain = suite.domain
    verdicts = set()
    for task in suite.tasks[::6]:
        episode = played(suite, task, policy)
        record = record_of(episode, task)
        assert episode.verdict is not None
        for item in episode.verdict.criteria:
            reply = ask(oracle, prompt(domain, task, record, {"id": item.id, "kind": item.kind})).reply
            assert reply["verdict"] == ("met" if item.passed else "not_met"), (task.id, item.id, reply)
            verdicts.add(reply["verdict"])
    if policy == "expert":
        assert verdicts == {"met"}
    else:
        assert "not_met" in verdicts


def an_episode() -> tuple[Task, list[JsonObject], tuple[CriterionResult, ...]]:
    suite = suite_of("simia/retail-v0", split="all")
    task = next(task for task in suite.tasks if task.goal)
    episode = played(suite, task)
    assert episode.verdict is not None
    return task, record_of(episode, task), episode.verdict.criteria


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        ({"program": "called", "tool": "get_order_details"}, "met"),
        ({"program": "not_called", "tool": "get_order_details"}, "not_met"),
        ({}, "unsure"),
        (None, "unsure"),
    ],
)
def test_a_question_that_no_program_answers_needs_a_hint(oracle: OracleServer, facts: Any, verdict: str) -> None:
    task, record, _ = an_episode()
    criterion = {"id": "polite", "kind": "communication", **({} if facts is None else {"facts": facts})}
    reply = ask(oracle, prompt(retail(), task, record, criterion)).reply
    assert reply["verdict"] == verdict
    assert reply["reason"]


def test_a_truncated_call_is_executed_again_only_if_it_changed_nothing(oracle: OracleServer) -> None:
    task, record, _ = an_episode()
    event = record[-1]["event"] + 2
    statuses = []
    for name, outcome in (("cancel_pending_order", "ok"), ("cancel_pending_order", "error"), ("calculate", "ok")):
        call = {"name": name, "arguments": '{"a":', "left_out": 9, "end": "}"}
        more = [{"event": event, "by": "agent", "call": call}, {"event": event, "by": "tool", "outcome": outcome}]
        got = ask(oracle, prompt(retail(), task, [*record, *more], {"id": "goal", "kind": "goal"}))
        statuses.append(got.status)
    assert statuses == [400, 200, 200]
