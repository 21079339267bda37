"""What the checks of synthetic trajectories find, let pass and wrongly drop, and how fast they are.

The oracle plays the teacher: the domain's expert in its own world, spoiled at the given rates in the ways of poor
teachers. What is kept is replayed in the world of its task, call by call, and its observations are compared. That is
something no check knows: in real use the task of a teacher's conversation is nowhere but in its words.

    python -m benchmarks.synthesis [--env simia/retail-v0 ...] [--drafts 500] [--rates 0.05 0.2] [--out FILE]
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

from simia_gym.assembly.settings import EnvConfig
from simia_gym.assembly.suite import load_suite
from simia_gym.common.event_loop import run_sync
from simia_gym.domain.domain import Domain
from simia_gym.domain.registration import env_ids
from simia_gym.evaluation.intervals import mean_over_tasks
from simia_gym.oracle.domains import Domains
from simia_gym.oracle.options import OracleOptions
from simia_gym.oracle.reading import read_request
from simia_gym.oracle.teacher import Taught, teach
from simia_gym.synth.domains import Subject, subject_of_domain
from simia_gym.synth.drafts import Draft
from simia_gym.synth.postprocess import Kept, Postprocess
from simia_gym.synth.prompt import teacher_prompt, variation
from simia_gym.trajectories.contamination import Benchmark, add_tasks
from simia_gym.trajectories.findings import calls_of
from simia_gym.trajectories.written import from_text
from simia_gym.types import JsonObject, Message, Task, ToolCall

_REPLAYED = 100
"""So many kept trajectories are replayed in the world of their task."""
_HELLO: Sequence[Message] = ({"role": "user", "content": "Hello."}, {"role": "assistant", "content": "Hello."})


def taught(subject: Subject, drafts: int, rate: float) -> list[Taught]:
    """Trajectories of the teacher, a part of them spoiled."""
    options, chance = OracleOptions(teacher_mistake_rate=rate), Random(f"synthesis:{rate}")
    domains, found = Domains(options), []
    for number in range(drafts):
        prompt = teacher_prompt(subject.teaching, _HELLO, variation(number, seed=0))
        request = read_request(b'{"messages":%b}' % prompt.messages_json())
        found.append(teach(request, domains, options, Random(f"{rate}:{chance.random()}:{number}")))
    return found


def holds(domain: Domain, task: Task, messages: Sequence[Message]) -> bool:
    """Whether the world of the task answers each call as the trajectory says."""
    return bool(run_sync(_replayed(domain, task, messages), inline=False))


async def _replayed(domain: Domain, task: Task, messages: Sequence[Message]) -> bool:
    assert domain.world is not None
    state = domain.begun(task)
    for number, call in enumerate(calls_of(messages)):
        given = await domain.world.answer(state, ToolCall(call.name, call.arguments, f"c{number}"))
        if given.observation != call.answer:
            return False
        state = state if given.state is None else given.state
    return True


def _holds(domain: Domain, item: Taught) -> bool:
    return holds(domain, domain.find_task(item.task), from_text(item.text).messages)


def measured(env: str, drafts: int, rate: float) -> JsonObject:
    """What becomes of the teacher's trajectories in one environment."""
    domain = load_suite(EnvConfig(env=env, simulator="world")).domain
    subject, benchmark = subject_of_domain(env, domain), Benchmark()
    add_tasks(benchmark, domain.tasks_of("test"), domain.name)
    items = taught(subject, drafts, rate)
    kept: Counter[str] = Counter()
    made: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    seconds, found = {}, []
    for near in (0.0, 0.9):
        process = Postprocess(subject, {}, benchmark, near=near)
        began = time.process_time()
        rows = [process.check(Draft(f"s{n}", n, "", "single", text=item.text)) for n, item in enumerate(items)]
        seconds[str(near)] = round(drafts / (time.process_time() - began))
        if near:
            continue
        found = rows
        for item, row in zip(items, rows, strict=True):
            kind = item.mistakes[0] if item.mistakes else "right"
            made[kind] += 1
            kept[kind] += isinstance(row, Kept)
            if kind == "right" and isinstance(row, list):
                reasons[row[0].code] += 1
    some = [item for item, row in zip(items, found, strict=True) if isinstance(row, Kept)][:_REPLAYED]
    wrong = sum(count for kind, count in kept.items() if kind != "right")
    return {
        "env": env,
        "rate": rate,
        "drafts": drafts,
        "kept": kept.total(),
        "wrong_of_kept": share(wrong, kept.total()),
        "right_that_are_kept": share(kept["right"], made["right"]),
        "kept_by_mistake": {kind: share(kept[kind], made[kind]) for kind in sorted(made) if kind != "right"},
        "right_dropped_by": dict(reasons),
        "kept_that_the_world_repeats": share(sum(_holds(domain, item) for item in some), len(some)),
        "checks_a_cpu_second": {"exact": seconds["0.0"], "near": seconds["0.9"]},
    }


def share(part: int, whole: int) -> JsonObject:
    """A share with its interval of 95%; nothing of nothing is no share."""
    return {"n": whole, **(mean_over_tasks([1.0] * part + [0.0] * (whole - part)) if whole else {})}


def main() -> None:
    """Measure, print, and write a file if one is named."""
    asked = argparse.ArgumentParser()
    asked.add_argument("--env", nargs="*", default=list(env_ids()))
    asked.add_argument("--drafts", type=int, default=500)
    asked.add_argument("--rates", type=float, nargs="*", default=[0.05, 0.2])
    asked.add_argument("--out", type=Path)
    given = asked.parse_args()
    found: list[Any] = []
    for env in given.env:
        for rate in given.rates:
            found.append(measured(env, given.drafts, rate))
            print(json.dumps(found[-1]), flush=True)
    if given.out is not None:
        given.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
