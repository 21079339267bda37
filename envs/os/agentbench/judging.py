"""Judges a task of AgentBench as its file says.

A published check runs the task's example on the tree that the agent leaves, so an agent that empties the tree is
asked about an empty one. The default is sound: a check that compares an answer with what the example writes runs on the
initial tree, one that looks at what the agent has done on the final tree.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from simia_gym.envs.os.agentbench.checks import holds
from simia_gym.envs.os.agentbench.published import Evaluation, Match, Script
from simia_gym.envs.os.agentbench.running import run, text
from simia_gym.errors import InputError, SandboxUnavailable
from simia_gym.sandbox import Tree

_LONGEST = 160


@dataclass(frozen=True)
class Judged:
    """Whether a task is solved, and why.

    Attributes:
        passed: Whether it is.
        reason: One sentence.
    """

    passed: bool
    reason: str


@dataclass(frozen=True)
class Told:
    """What a script did: its exit code, what it wrote, and the limit that stopped it, or nothing."""

    code: int
    output: bytes
    stopped: str = ""


def tell(evaluation: Evaluation, initial: Tree) -> Told | None:
    """What the example says of the initial tree; ``None`` if no check compares an answer with it.

    It is told before the episode, so that an example which reads the clock says the same whenever it is judged.

    Raises:
        Fault: The sandbox ended.
        SandboxUnavailable: There is no sandbox.
    """
    if None not in evaluation.check or evaluation.example is None:
        return None
    done, _ = run(initial, evaluation.example)
    return Told(done.code, done.output, done.stopped)


def judge(
    evaluation: Evaluation,
    initial: Tree,
    final: Tree,
    answer: str | None,
    *,
    told: Told | None = None,
    published: bool = False,
) -> Judged:
    """Judge a task.

    Args:
        evaluation: How.
        initial: The tree before the agent's first command.
        final: The tree after its last one.
        answer: The agent's answer; ``None`` if it has given none.
        told: What the example said of the initial tree, if that is known already.
        published: Whether every check runs on the final tree, and no answer is the answer ``None``.

    Raises:
        Fault: The sandbox ended.
        SandboxUnavailable: There is no sandbox.
    """
    if evaluation.match is not None:
        return _matched(evaluation.match, answer)
    if published or not evaluation.about_answer:
        said = answer if answer is not None else "None" if published else ""
        return _chained(evaluation, final, said, None)
    if answer is None:
        return Judged(False, "there is no answer")
    return _chained(evaluation, initial, answer, told or tell(evaluation, initial))


def _matched(match: Match, answer: str | None) -> Judged:
    if answer is None:
        return Judged(False, "there is no answer")
    said = answer.strip() if match.strip else answer
    if match.regex is not None:
        right = re.search(match.regex, said) is not None
        return Judged(right, f"the answer {_short(said)} {'matches' if right else 'does not match'} {match.regex!r}")
    right = said == match.answer
    return Judged(right, f"the answer {_short(said)} is {'right' if right else 'wrong'}")


def _chained(evaluation: Evaluation, tree: Tree, answer: str, told: Told | None) -> Judged:
    """Run the checks one after another; each is given the answer and what those before it wrote.

    Each has the tree that the one before it leaves; but the same one if the example has told what it says.
    """
    given = [answer]
    for number, one in enumerate(evaluation.check, start=1):
        script = evaluation.example if one is None else one
        assert script is not None  # a file without it is refused
        name = "the example" if one is None else f"check {number}{_named(script)}"
        if script.language == "own":
            if not holds(script.code, given):
                return Judged(False, f"{name} fails for {', '.join(map(_short, given))}")
            given.append("")
            continue
        try:
            if one is None and told is not None:
                done = told
            else:
                result, after = run(tree, script, given)
                tree = after if told is None else tree
                done = Told(result.code, result.output, result.stopped)
        except SandboxUnavailable:
            raise
        except InputError as error:
            return Judged(False, f"{name} cannot be given the answer: {error.what}")
        if done.stopped:
            return Judged(False, f"{name} was stopped by the limit of {done.stopped}")
        if done.code:
            return Judged(False, f"{name} ended with {done.code} and wrote {_short(text(done.output))}")
        given.append(text(done.output))
    return Judged(True, f"all {len(evaluation.check)} checks hold for the answer {_short(answer)}")


def _named(script: Script) -> str:
    return f" ({script.code})" if script.language == "own" else ""


def _short(said: str) -> str:
    return repr(said if len(said) <= _LONGEST else f"{said[:_LONGEST]}…")
