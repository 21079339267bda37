"""The criterion of AgentBench's tasks, and the beginning of their episodes: both read the state."""

from __future__ import annotations

from pydantic import BaseModel

from simia_gym.envs.os import machine
from simia_gym.envs.os.agentbench.data import OPTION
from simia_gym.envs.os.agentbench.judging import judge
from simia_gym.envs.os.agentbench.published import Evaluation, Match, Script
from simia_gym.envs.os.agentbench.running import begin
from simia_gym.envs.os.rooms import in_thread
from simia_gym.record.finished_episode import FinishedEpisode
from simia_gym.rewards.finding import Finding, quote_call
from simia_gym.rewards.programs.program import Args
from simia_gym.state import Draft
from simia_gym.trees import Clock
from simia_gym.types import Task

_JUDGING = "_judging"


class _Scripts(BaseModel):
    init: tuple[Script, ...] = ()
    start: tuple[Script, ...] = ()


class SolvedArgs(Args):
    """Arguments of `solved`: how the task is judged, see `Evaluation`."""

    match: Match | None = None
    check: tuple[Script | None, ...] = ()
    example: Script | None = None


async def prepare(db: Draft, task: Task, compat: object) -> None:
    """Make the machine of a task of AgentBench; other tasks have no scripts.

    Raises:
        Fault: A script was stopped by a limit, or the sandbox ended.
        SandboxUnavailable: There is no sandbox.
    """
    if OPTION not in task.options:
        return
    scripts = _Scripts.model_validate(task.options[OPTION])
    clock = Clock.now(0)
    before = machine.tree_of(db.state, clock)
    begun = await in_thread(begin, scripts.init, scripts.start, before)
    machine.write_tree(db, before, begun.tree, clock)
    db.put("shell", "main", machine.shell_row(begun.shell))
    if compat == "agentbench":
        db.put(_JUDGING, "main", {"published": True})


async def solved(finished: FinishedEpisode, args: SolvedArgs) -> Finding:
    """The task is solved, as its match or its checks say."""
    last = finished.calls[-1] if finished.calls else None
    if last is None or not last.terminal or not last.ok:
        return Finding.of(False, "the agent neither answered nor finished")
    answer = last.arguments["answer"] if last.name == "answer_action" else None
    clock = Clock.now(finished.final.at("/shell/main/commands") + 1)
    initial, final = (machine.tree_of(state, clock) for state in (finished.initial, finished.final))
    evaluation = Evaluation(match=args.match, check=args.check, example=args.example)
    published = finished.initial.has(_JUDGING, "main")
    found = await in_thread(judge, evaluation, initial, final, answer, published)
    return Finding.of(found.passed, found.reason, (quote_call(finished, last),))
