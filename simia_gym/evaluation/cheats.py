"""Plays cheats: policies that try to be rewarded for what they should not do, each beside a harmless twin.

A cheat is a policy class with the attribute ``twin``, a policy class that looks alike and does nothing wrong. If it has
an attribute ``bent``, only the episodes count after which that is true: those in which it really cheated. A cheat that
bends the expert of a service (`simia_gym.service.Bent`) and names no ``service`` is played with that of the domain.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from simia_gym.assembly.suite import Suite
from simia_gym.common.dotted_names import load_object
from simia_gym.common.event_loop import run_sync
from simia_gym.errors import InputError
from simia_gym.policies import Policy
from simia_gym.policies.load import checked_class, see_current_folder
from simia_gym.rollout.play import play
from simia_gym.service import ServiceExpert
from simia_gym.types import Task, Verdict

MOST = 0.05
"""The largest share of its episodes in which a cheat may succeed."""
LEAST = 0.97
"""The smallest share of the expert's successes that a twin must keep."""
_LIST = "CHEATS"
_FORM = f"Name a module, or a Python file, that has a list {_LIST} of policy classes, each with a twin."


@dataclass
class Score:
    """How a cheat and its twin did.

    Attributes:
        cheat: What the cheat does: the first line of its docstring, else the name of its class.
        twin: The same of its twin.
        tasks: Number of tasks that the cheat played.
        bent: In how many it cheated; only these count, and the twin plays these.
        succeeded: In how many of these it succeeded.
        lost: In how many of these the expert succeeds and the twin does not.
        reported: In how many of those in which it succeeded the verdict reports its conduct, outside the reward.
    """

    cheat: str
    twin: str
    tasks: int = 0
    bent: int = 0
    succeeded: int = 0
    lost: int = 0
    reported: int = 0

    @property
    def problem(self) -> str | None:
        """What is wrong with the reward, if anything is."""
        if self.succeeded > MOST * self.bent:
            return (
                f"it succeeds in {self.succeeded} of the {self.bent} episodes in which it cheats (at most {MOST:.0%})"
            )
        if self.lost > (1 - LEAST) * self.bent:
            return f"its twin fails in {self.lost} of {self.bent} episodes of the expert (at most {1 - LEAST:.0%})"
        return None


def load_cheats(module: str) -> list[type[Policy]]:
    """Load the list ``CHEATS`` of a module.

    Args:
        module: The name of a module, or the path of a Python file.

    Raises:
        InputError: There is no such module or list, it cannot be loaded, or it lists something that is no cheat.
    """
    where = f"cheats {module!r}"
    see_current_folder()
    try:
        found = load_object(f"{module}:{_LIST}", folder=Path.cwd(), where=where)
    except InputError as error:
        fix = error.fix if error.what.startswith("cannot import") else _FORM
        raise InputError(error.what, where=error.where, fix=fix) from error
    if not isinstance(found, list | tuple) or not found:
        fix = "List policy classes, each with an attribute `twin`."
        raise InputError(f"{_LIST} is no list of classes, or it is empty", where=where, fix=fix)
    for cheat in found:
        name = getattr(cheat, "__name__", repr(cheat))
        checked_class(cheat, f"{module}: {name}")
        if not hasattr(cheat, "twin"):
            fix = "Give it the attribute `twin`: a policy class that looks alike and does nothing wrong."
            raise InputError(f"{name} has no twin", where=where, fix=fix)
        checked_class(cheat.twin, f"{module}: the twin of {name}")
    return list(found)


def play_cheats(
    suite: Suite, tasks: Sequence[Task], cheats: Iterable[type[Policy]], enough: int | None = None
) -> Iterator[Score]:
    """Play cheats, each with its twin.

    Args:
        suite: The domain.
        tasks: The tasks, which every cheat plays in this order.
        cheats: The cheats.
        enough: Number of episodes that count after which a cheat plays no further task; none if not given.

    Yields:
        The score of each cheat.

    Raises:
        InputError: The verdict on an episode is invalid, or a cheat of services is played in another domain.
    """
    expert = suite.load_policy("expert")
    for cheat in cheats:
        twin: type[Policy] = getattr(cheat, "twin")  # noqa: B009 - a policy need not have it
        score = Score(_says(cheat), _says(twin))
        for seed, task in enumerate(tasks):
            score.tasks += 1
            policy, verdict = _played(suite, task, seed, _served(cheat, expert))
            if not getattr(policy, "bent", True):
                continue
            score.bent += 1
            score.succeeded += verdict.success
            noticed = any(one.kind == "conduct" and one.passed is False for one in verdict.criteria)
            score.reported += verdict.success and noticed
            if not _played(suite, task, seed, _served(twin, expert))[1].success:
                score.lost += _played(suite, task, seed, expert)[1].success
            if score.bent == enough:
                break
        yield score


def _says(policy: type[Policy]) -> str:
    return (vars(policy).get("__doc__") or policy.__name__).strip().splitlines()[0]


def _served(policy: type[Policy], expert: Callable[[], Policy]) -> Callable[[], Policy]:
    """The policy; if it bends the expert of any service, that of this domain."""
    if not issubclass(policy, ServiceExpert) or hasattr(policy, "service"):
        return policy
    if not isinstance(expert, type) or not issubclass(expert, ServiceExpert):
        what = f"{policy.__name__} bends the expert of a service, and this domain declares none"
        raise InputError(what, fix="Write a policy of its own for this domain.")
    return type(policy.__name__, (policy,), {"service": expert.service})


def _played(suite: Suite, task: Task, seed: int, make: Callable[[], Policy]) -> tuple[Policy, Verdict]:
    """Play one episode: the policy, and the verdict."""
    policy, episode = make(), suite.episode()
    run_sync(play(episode, task, seed=seed, policy=policy, env=suite.config.env), inline=episode.inline)
    verdict = episode.verdict
    if verdict is None or not verdict.valid:
        reason = "" if verdict is None else verdict.reason
        what = f"its episode is invalid: {reason}"
        raise InputError(what, where=f"{getattr(make, '__name__', make)}, task {task.id}", fix="Mend what it names.")
    return policy, verdict
