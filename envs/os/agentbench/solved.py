"""The criterion of AgentBench's tasks, and the beginning of their episodes: both read the state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel

from simia_gym.common.json_encoding import as_bytes, as_text
from simia_gym.envs.os.agentbench.data import OPTION
from simia_gym.envs.os.agentbench.judging import Told, judge, tell
from simia_gym.envs.os.agentbench.published import Evaluation, Script
from simia_gym.envs.os.agentbench.running import begin
from simia_gym.envs.os.machine import shell_row, tree_of, write_tree
from simia_gym.record.finished_episode import FinishedEpisode
from simia_gym.rewards.finding import Finding, quote_call
from simia_gym.rewards.programs.program import Args
from simia_gym.rewards.rubric import RubricReward
from simia_gym.sandbox import in_thread
from simia_gym.state import Draft
from simia_gym.trees import Clock
from simia_gym.types import Task

_JUDGING = "_judging"


class _Machine(BaseModel):
    init: tuple[Script, ...]
    start: tuple[Script, ...]
    evaluation: Evaluation


class AgentBenchReward(RubricReward):
    """The task is solved as AgentBench says; the rules of the own tasks do not count."""

    @classmethod
    def for_domain(cls, items: Sequence[Any], options: Mapping[str, Any], **settings: Any) -> AgentBenchReward:
        """Create the reward without the domain's rubric."""
        check = {"program": f"{__name__}:solved"}
        own = {"id": "solved", "kind": "goal", "check": check, "says": "What the task asks for is done or answered."}
        return cls((own,), options, **settings)


async def prepare(db: Draft, task: Task, compat: object) -> None:
    """Make the machine of a task of AgentBench; other tasks have no scripts.

    Raises:
        Fault: A script was stopped by a limit, or the sandbox ended.
        SandboxUnavailable: There is no sandbox.
    """
    if OPTION not in task.options:
        return
    machine = _Machine.model_validate(task.options[OPTION])
    clock = Clock.now(0)
    before = tree_of(db.state, clock)
    begun = await in_thread(begin, machine.init, machine.start, before)
    write_tree(db, before, begun.tree, clock)
    db.put("shell", "main", shell_row(begun.shell))
    row: dict[str, Any] = {"published": compat == "agentbench"}
    told = None if row["published"] else await in_thread(tell, machine.evaluation, begun.tree)
    if told is not None:
        row["told"] = {"code": told.code, "output": as_text(told.output), "stopped": told.stopped}
    db.put(_JUDGING, "main", row)


async def solved(finished: FinishedEpisode, args: Args) -> Finding:
    """The task is solved, as its match or its checks say."""
    last = finished.calls[-1] if finished.calls else None
    if last is None or not last.terminal or not last.ok:
        return Finding.of(False, "the agent neither answered nor finished")
    answer = last.arguments["answer"] if last.name == "answer_action" else None
    evaluation = _Machine.model_validate(finished.task.options[OPTION]).evaluation
    row, clock = finished.initial.at(f"/{_JUDGING}/main"), Clock.now(0)
    initial = final = tree_of(finished.initial, clock)
    if row["published"] or not evaluation.about_answer:
        final = tree_of(finished.final, clock)
    told = row.get("told") and Told(row["told"]["code"], as_bytes(row["told"]["output"]), row["told"]["stopped"])
    found = await in_thread(judge, evaluation, initial, final, answer, told=told, published=row["published"])
    return Finding.of(found.passed, found.reason, (quote_call(finished, last),))
