"""Evaluates an agent on the tasks of an environment, from Python."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from operator import itemgetter
from pathlib import Path
from typing import Any

import gymnasium
from rich.console import Console
from rich.progress import Progress

from simia_gym.assembly.suite import Suite
from simia_gym.common.event_loop import run_sync
from simia_gym.domain.registration import resolve_env
from simia_gym.env import SimiaEnv, make_suite
from simia_gym.errors import InputError
from simia_gym.evaluation.agents import Agent, policies_of
from simia_gym.evaluation.report import Report, make_report
from simia_gym.evaluation.trials import Series, count_record
from simia_gym.llm.accounts import accounts
from simia_gym.policies.load import policy_hash
from simia_gym.record.records import Record
from simia_gym.rollout.jobs import Plan, choose, plain_config
from simia_gym.rollout.pool import Pool
from simia_gym.rollout.store import NoStore, RecordStore, create_store, resume_store
from simia_gym.rollout.summary import fault_name, spending_json
from simia_gym.rollout.watch import EndpointLostError, Watch
from simia_gym.types import JsonObject, SplitChoice

_SHOWN = ("task", "kind", "split", "member", "seed", "valid", "success", "reward", "score", "turns", "ended")
logger = logging.getLogger("simia_gym")


def evaluate(
    env: str | gymnasium.Env[str, str],
    agent: Agent,
    *,
    trials: int = 1,
    split: SplitChoice = "test",
    tasks: Sequence[str] = (),
    limit: int | None = None,
    concurrency: int = 8,
    timeout: float | None = None,
    seed: int = 0,
    out: str | Path | None = None,
    resume: bool = False,
    progress: bool | None = None,
    **settings: Any,
) -> Report:
    """Play the tasks of a split and report the scores, as ``simia evaluate`` does.

    Args:
        env: An environment id, such as ``simia/retail-v0``; the folder of a domain; or an environment object, whose
            settings and tasks are used.
        agent: A function ``agent(messages, tools)``, plain or async, that gets both in OpenAI's format and returns a
            text or an assistant message (the system message holds neither the tools nor the format of calls; write a
            policy class for a model that is to read them there); a policy class, instantiated for each episode; a
            policy object, which plays one episode at a time; or the name of a policy, such as ``expert``.
        trials: Episodes per task.
        split: Which tasks to play; ignored if ``env`` is an environment object.
        tasks: Ids of the tasks to play, instead of all of the split.
        limit: Play only the first so many tasks.
        concurrency: Maximum number of concurrent episodes. A plain function is called in as many threads.
        timeout: Time limit of one episode in seconds; a longer one ends with a fault.
        seed: Random seed of the episodes and of the bootstrap.
        out: JSONL file for the records of the episodes, for ``simia show`` and ``simia replay``.
        resume: Whether to continue the record ``out``: its valid episodes are kept, all others are played. Settings and
            tasks must be the same; of the agent only the name is compared, and the source if it was given by name.
        progress: Whether to show a progress bar on standard error; ``None``: if that is a terminal.
        **settings: Further settings, as for `gymnasium.make`; not allowed if ``env`` is an environment object.

    Returns:
        The scores; ``episodes`` has the result of each episode. An episode with a fault is invalid and counts in no
        score. If an endpoint becomes unreachable, or the first episodes all end with the same bug of the agent, the run
        stops early and ``report["run"]["stopped"]`` gives the reason.

    Raises:
        InputError: A setting is wrong, or the agent has none of these types.
    """
    suite = _suite_of(env, split, settings)
    name, make_policy, most = policies_of(agent, suite)
    if trials < 1:
        raise InputError(f"trials is {trials}", where="trials", fix="Give at least 1.")
    if isinstance(tasks, str):
        raise InputError(f"tasks is the text {tasks!r}", where="tasks", fix="Give a list of ids.")
    if resume and out is None:
        raise InputError("there is no record to continue", where="resume", fix="Give out, the record's file.")
    config, chosen = plain_config(suite), choose(suite.tasks, tasks, limit)
    total = trials * (len(suite.tasks) if chosen is None else len(chosen))
    source: str | None = None
    if isinstance(agent, str):
        source = policy_hash(agent, suite.domain.config.policies, folder=suite.domain.folder)
    plan = Plan(config, suite.domain.hash, name, seed=seed, episodes=total, policy_hash=source, chosen=chosen)
    watch = Watch(concurrency)
    found, began, before = dict[bytes, Series](), time.monotonic(), accounts().mark()
    traces: list[str] = []
    episodes: list[JsonObject] = []
    with ExitStack() as stack:
        console = Console(stderr=True)
        hidden = not (console.is_terminal if progress is None else progress)
        shown = stack.enter_context(Progress(console=console, disable=hidden, transient=console.is_terminal))
        bar = shown.add_task(f"{config.env.removeprefix('simia/')} · {name}", total=total)

        def on_done(record: Record) -> None:
            count_record(record, found, "" if out is None else str(out))
            episodes.append(_result_of(record))
            shown.advance(bar)
            watch.seen(record)

        def on_traceback(trace: str) -> None:
            if not traces:  # only the first one, because one bug often fails many episodes
                traces.append(trace)
                logger.error("an episode ended with an unexpected exception:\n%s", trace)

        pool = Pool(suite, plan, make_policy, concurrency=min(concurrency, most), timeout=timeout, on_done=on_done)
        pool.on_traceback = on_traceback
        store = stack.enter_context(_store(out, plan, resume=resume))
        watch.begin(pool.halt, store.finished)
        with suppress(EndpointLostError):  # the watch holds the reason, reported below
            run_sync(pool.run(store), inline=False)
    run: JsonObject = {"policy": name, "split": config.split, "prompt": config.prompt}
    run |= spending_json(pool.summary, accounts().snapshot(before) if suite.model_names else {})
    run |= {"seconds": round(time.monotonic() - began, 3), "record": None if out is None else str(out)}
    if watch.stopped is not None:
        run["stopped"] = watch.stopped
        logger.warning("%s: stopped after %d episodes: %s", config.env, pool.summary.all.episodes, watch.message)
    report = make_report([*found.values()], seed=seed, run=run)
    report.episodes = tuple(sorted(episodes, key=itemgetter("task", "member")))
    return report


def _store(out: str | Path | None, plan: Plan, *, resume: bool) -> RecordStore:
    if out is None:
        return NoStore()
    return resume_store(Path(out), plan) if resume else create_store(Path(out))


def _result_of(record: Record) -> JsonObject:
    """The result of one episode, without its events."""
    fault = None if record.fault is None else fault_name(record)
    return {**{name: getattr(record, name) for name in _SHOWN}, "fault": fault}


def _suite_of(env: str | gymnasium.Env[str, str], split: str, settings: dict[str, Any]) -> Suite:
    if isinstance(env, str):
        name, folder = resolve_env(env, settings.pop("domain", None))
        return make_suite(name, {**settings, "domain": folder, "split": split})
    inner = env.unwrapped
    if not isinstance(inner, SimiaEnv):
        fix = "Give an id from `simia list`."
        raise InputError(f"{type(inner).__name__} is not a simia environment", where="env", fix=fix)
    if settings:
        fix = "Give them to gymnasium.make, or give an id instead of an environment object."
        raise InputError(f"an environment object already has its {', '.join(settings)}", where="settings", fix=fix)
    return inner.suite
