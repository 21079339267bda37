"""Turns a criterion into a question to the judge: the statement, the facts, and which verdict needs evidence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from simia_gym.record.finished_episode import FinishedEpisode
from simia_gym.rewards.criteria import Criterion, ModelCheck
from simia_gym.rewards.judge.judge_record import Side
from simia_gym.rewards.programs.program import Args
from simia_gym.types import CriterionKind, JsonObject

_GOAL = (
    "At the end of the episode the value at every pointer in facts.goal is the one given there (null: there is nothing)"
    ", and nothing else was changed. Take the calls that succeeded and their answers for what was done."
)
_NOTHING = "Nothing was changed by the end of the episode: no call that changes something succeeded."
# Statements for programs whose summary speaks of their arguments or leaves something out that a judge needs.
_STATEMENTS = {
    "refused": "The agent told the user that it cannot or will not do what was asked, once it could know.",
    "gold_writes": (
        "No tool wrote more often than the task's gold actions have it, so nothing was done and undone on the way."
    ),
    "valid_actions": "The share of the agent's actions that were well formed; the value is that share.",
}
# Programs whose criterion is met if something did not happen: no quote can prove that.
_ABSENCES = frozenset(
    {
        "unchanged",
        "not_says",
        "not_claimed",
        "not_called",
        "no_writes",
        "gold_writes",
        "confirmed_writes",
        "no_errors",
        "max_turns_used",
    }
)


@dataclass(frozen=True, slots=True)
class Question:
    """A question to the judge.

    Attributes:
        id: The criterion's id.
        kind: The criterion's kind.
        text: The statement that should hold.
        facts: Facts that the judge needs besides the record; may be empty.
        burden: The verdict that needs evidence: ``not_met`` if something must not have happened, else ``met``.
    """

    id: str
    kind: CriterionKind
    text: str
    facts: JsonObject
    burden: Literal["met", "not_met"]

    @property
    def data(self) -> JsonObject:
        """The content of the block ``criterion``."""
        data: JsonObject = {"id": self.id, "kind": self.kind, "question": self.text}
        if self.facts:
            data["facts"] = self.facts
        return data

    @property
    def trusted(self) -> frozenset[Side]:
        """The sources whose words count as evidence.

        The agent's own words prove only that it said them. They count for communication criteria and as proof that
        something forbidden happened. A goal can be proven only by observations, because the user may repeat what the
        agent has claimed.
        """
        if self.burden == "not_met":
            return frozenset({"said", "called", "heard", "seen"})
        if self.kind == "goal":
            return frozenset({"seen"})
        return frozenset({"said", "heard", "seen"}) if self.kind == "communication" else frozenset({"heard", "seen"})


def question_of(criterion: Criterion, finished: FinishedEpisode) -> Question:
    """Turn a criterion into a question; if it has a program, the question describes what the program checks."""
    check = criterion.check
    if isinstance(check, ModelCheck):
        burden: Literal["met", "not_met"] = "not_met" if criterion.kind == "forbidden" else "met"
        return Question(criterion.id, criterion.kind, check.question.strip(), dict(check.options), burden)
    name = check.program.name
    arguments = _arguments(check.args)
    facts: JsonObject = {}
    absent = criterion.kind == "forbidden" or name in _ABSENCES
    text = _STATEMENTS.get(name, check.program.summary)
    if name == "goal_state":
        goal = list(finished.task.goal or ())
        facts["goal"] = goal
        text = _GOAL if goal else _NOTHING
        absent = absent or not goal
    elif criterion.says.strip():
        text = f"{criterion.says.strip()} ({text})" if text else criterion.says.strip()
    if name == "gold_writes":
        facts["gold"] = list(finished.task.gold)
    if arguments:
        facts["arguments"] = arguments
    return Question(criterion.id, criterion.kind, text or criterion.id, facts, "not_met" if absent else "met")


def _arguments(args: Args | Mapping[str, Any]) -> JsonObject:
    """The arguments that a rubric gives, as data."""
    if isinstance(args, Args):
        return args.model_dump(mode="json", exclude_unset=True)
    return dict(args)
