"""What is said before a run, and with which words it goes on later."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from simia_gym.assembly.suite import Suite
from simia_gym.cli.estimate import judged

_LOOKED_AT = 100


def banner(suite: Suite, *, policy: str, prompt: str, seed: int) -> str:
    """Who plays what, in one line.

    Args:
        suite: The environment.
        policy: The policy, as the record names it.
        prompt: Which system message.
        seed: The run's seed.
    """
    user = suite.config.user or suite.domain.user
    parts = [shown_name(suite), f"policy {policy}", f"simulator {suite.simulator_name}"]
    parts += [f"user {user}"] if user else []
    parts += [f"judge {suite.config.judge}"] if suite.config.judge else []
    parts += [f"{role}'s model {name}" for role, name in suite.model_names.items()]
    parts += [f"prompt {prompt}", f"seed {seed}"]
    return " · ".join(parts)


def warnings(suite: Suite) -> Iterator[str]:
    """What will not be as one might expect, a sentence each."""
    yield from suite.warnings
    tasks = suite.tasks
    if suite.config.judge is not None and not any(judged(suite, task) for task in islice(iter(tasks), _LOOKED_AT)):
        more = "" if len(tasks) <= _LOOKED_AT else f" of the first {_LOOKED_AT}"
        yield (
            f"the judge will not be asked: in the tasks{more} every criterion has a program. --judge llm-all has the "
            "judge look at these, too"
        )


def shown_name(suite: Suite) -> str:
    """The environment's id; of a domain of one's own, the domain's name."""
    return suite.domain.name if suite.config.domain is not None else suite.config.env


def to_continue(record: Path, words: Sequence[str] | None = None) -> str:
    """The command that goes on with a record.

    Args:
        record: The record.
        words: What was typed after the program's name.
    """
    kept = [word for word in (sys.argv[1:] if words is None else words) if word != "--resume"]
    if "--out" not in kept and not any(word.startswith("--out=") for word in kept):
        kept += ["--out", str(record)]
    return shlex.join(["simia", *kept, "--resume"])
