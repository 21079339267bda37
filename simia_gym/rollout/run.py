"""A rollout from its settings to its record: load the environment and the policy, play the episodes, report the end."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from simia_gym.assembly.resources import Resources
from simia_gym.assembly.settings import MOST, EnvConfig
from simia_gym.assembly.sources import POLICY, ModelSources
from simia_gym.assembly.suite import LLM, load_suite
from simia_gym.common.settings import Settings, setting
from simia_gym.domain.tasks import TaskList
from simia_gym.errors import InputError
from simia_gym.llm.accounts import accounts
from simia_gym.llm.settings import NO_MATTER
from simia_gym.policies import Policy, PolicyOptions, policy_hash, policy_names
from simia_gym.policies.load import HUMAN, extra_policies
from simia_gym.record.records import Record
from simia_gym.rollout.jobs import Plan, choose, content_key, plain_config
from simia_gym.rollout.pool import Pool
from simia_gym.rollout.pools import Elsewhere, load_pool
from simia_gym.rollout.preflight import Places, check_prices, look_at_models
from simia_gym.rollout.stopping import run_until_interrupted
from simia_gym.rollout.store import RecordStore, TakenError, create_store, record_path, resume_store, sidecar
from simia_gym.rollout.summary import Summary
from simia_gym.rollout.watch import EndpointLostError, Watch
from simia_gym.types import JsonObject, Task

EXPERT = "expert"
CLUSTER = "Cluster"
MOST_AT_ONCE = 10_000
_CASSETTES = ("record_cassette", "replay_cassette")


class RunSettings(Settings):
    """Settings of a rollout: policy, number of episodes, record file, cluster."""

    policy: str = setting(
        EXPERT, "expert, random, null, claimer, refuser, human, llm, hf, or module:Class.", metavar="P"
    )
    policy_model: str | None = setting(None, "Model of --policy llm or hf.", metavar="NAME")
    policy_base_url: str | None = setting(None, "OpenAI-compatible endpoint of --policy llm.", metavar="URL")
    task: tuple[str, ...] = setting((), "A task to play, by its id, instead of all of the split.", metavar="ID")
    limit: int | None = setting(None, "Play only the first N tasks.", metavar="N", ge=1, le=MOST)
    episodes: int | None = setting(
        None, "Episodes in total; choose a multiple of --group.", metavar="N", unset="tasks x group", ge=1, le=MOST
    )
    group: int = setting(1, "Episodes per task.", metavar="N", ge=1, le=MOST)
    trials: int | None = setting(None, "Episodes per task, each in its own group.", metavar="K", ge=1, le=MOST)
    seed: int = setting(0, "Random seed.", metavar="S", ge=0)
    concurrency: int = setting(8, "Maximum number of episodes in flight.", metavar="C", ge=1, le=MOST_AT_ONCE)
    timeout: int | float | None = setting(None, "Time limit of one episode in seconds.", metavar="S", gt=0)
    out: Path | None = setting(None, "Record file to write.", metavar="FILE", unset="a new file in runs/")
    resume: bool = setting(False, "Continue a record: keep valid episodes, play all others.")
    ray: bool = setting(False, "Distribute the episodes over a Ray cluster.", panel=CLUSTER)
    ray_address: str | None = setting(
        None,
        "Address of a running cluster: auto, or HOST:PORT.",
        metavar="A",
        panel=CLUSTER,
        unset="RAY_ADDRESS, else a local cluster",
    )
    ray_workers: int | None = setting(
        None, "Worker processes.", metavar="N", panel=CLUSTER, unset="one per core", ge=1, le=MOST_AT_ONCE
    )


@dataclass(frozen=True, kw_only=True)
class Ended:
    """How a rollout ended.

    Attributes:
        path: The record file.
        total: Number of episodes of the plan.
        summary: Results of the episodes that were played.
        seconds: Duration in seconds.
        spent: Model usage by role.
        stopped: Why the rollout ended early: ``budget``, ``endpoint``, ``bug`` or ``faults``; ``None`` if it did not.
        message: The reason for an early end in one line.
        error: The interrupt or the error that ended the rollout, if any.
    """

    path: Path
    total: int
    summary: Summary
    seconds: float
    spent: JsonObject
    stopped: str | None = None
    message: str = ""
    error: KeyboardInterrupt | InputError | None = None


class Run:
    """A rollout that is ready to start.

    Attributes:
        suite: The loaded environment.
        policy: Name of the policy in the record: with its model, without addresses.
        plan: The episodes to play.
        places: Settings and endpoint of the policy's model by role; empty if the policy uses none.
        path: The record file.

    Args:
        config: The environment.
        settings: How the run goes.
        sources: Which models play.
        resources: Their clients.
        tasks: Tasks to play in place of the environment's own.

    Raises:
        InputError: A setting is invalid, or something that the rollout needs is missing.
    """

    def __init__(
        self,
        config: EnvConfig,
        settings: RunSettings,
        sources: ModelSources,
        resources: Resources,
        tasks: Sequence[Task] | None = None,
    ) -> None:
        if settings.policy == HUMAN:
            settings = _for_a_person(settings)
        self.settings, self.sources = settings, sources
        self.suite = load_suite(config, resources)
        if tasks is not None:
            self.suite.tasks = TaskList(tasks, {}, None)
        self.policy, self.options = self._named_policy()
        own, folder = self.suite.domain.config.policies, self.suite.domain.folder
        if settings.policy == EXPERT and EXPERT not in policy_names(own):
            fix = "Give --policy llm, or module:Class of your own."
            raise InputError(f"{self.suite.domain.name} has no expert", where="policy", fix=fix)
        self._make_policy = self.suite.load_policy(settings.policy, self.options)
        self.places = self._places()
        if not self.suite.model_names and settings.policy != LLM:
            sources.check_used(config)
        chosen = choose(self.suite.tasks, settings.task, settings.limit)
        several = len(self.suite.tasks) if chosen is None else len(chosen)
        self.plan = Plan(
            config=plain_config(self.suite),
            domain_hash=self.suite.domain.hash,
            policy=self.policy,
            seed=settings.seed,
            group=settings.group,
            episodes=settings.episodes if settings.trials is None else several * settings.trials,
            policy_hash=policy_hash(settings.policy, own, folder=folder) or self._model_hash(),
            chosen=chosen,
        )
        self.path = settings.out or record_path(self.name, self.policy, resume=settings.resume)
        if sources.max_cost is not None:
            check_prices({**self.suite.models.places(self.suite.model_names), **self.places})

    def force(self, policy: str, policy_hash: str | None, how: str, make_policy: Callable[[], Policy]) -> None:
        """Repeat the actions of recorded episodes instead of asking a policy.

        Args:
            policy: Name of the policy that was recorded.
            policy_hash: Its content hash.
            how: Written to the record, whose episodes cannot be replayed.
            make_policy: Makes the policy that repeats them.
        """
        self.policy, self._make_policy, self.places = policy, make_policy, {}
        self.plan = replace(self.plan, policy=policy, policy_hash=policy_hash, forced=how)

    @property
    def name(self) -> str:
        """The environment's id, or the name of a custom domain."""
        return self.suite.domain.name if self.suite.config.domain is not None else self.suite.config.env

    @property
    def asks_models(self) -> bool:
        """Whether the rollout uses any model, the policy's included."""
        return bool(self.suite.model_names or self.places)

    @cached_property
    def total(self) -> int:
        """Number of episodes in total."""
        return self.plan.total(len(self.suite.tasks))

    @property
    def trained_prompt(self) -> str | None:
        """The system message that the policy was trained with; ``None`` if unknown."""
        return getattr(self._make_policy, "trained_prompt", None)

    def look(self) -> list[str]:
        """Check every model with one short request, unless the record file already exists and is not resumed.

        See `look_at_models` for results and errors.
        """
        return look_at_models(self.suite, self.places) if self.settings.resume or not os.path.exists(self.path) else []

    def play(
        self,
        begin: Callable[[RecordStore], AbstractContextManager[None]],
        on_done: Callable[[Record], None],
        on_traceback: Callable[[str], None],
    ) -> Ended:
        """Play all episodes, or until something ends the run early.

        Args:
            begin: Called with the opened record; the episodes are played within the context that it returns.
            on_done: Called with each finished episode.
            on_traceback: Called with the traceback of an episode that ended with an unexpected exception.

        Raises:
            InputError: The record cannot be created or resumed.
        """
        began, before = time.monotonic(), accounts().mark()
        watch = Watch(self.settings.concurrency)

        def watched(record: Record) -> None:
            on_done(record)
            watch.seen(record)

        pool = self._pool(watched)
        pool.on_traceback = on_traceback
        error: KeyboardInterrupt | InputError | None = None
        with self._store() as store:
            progress = begin(store)
            watch.begin(pool.halt, store.finished)
            # A user's own policy may compute for long and must stay interruptible: no uvloop for it.
            waits = self.asks_models and ":" not in self.settings.policy and self.settings.policy != HUMAN
            try:
                with progress:
                    run_until_interrupted(pool.run(store), waits=waits)
            except EndpointLostError:
                pass  # `watch` holds the reason
            except (KeyboardInterrupt, InputError) as caught:
                error = caught
        return Ended(
            path=store.path,
            total=pool.total,
            summary=pool.summary,
            seconds=time.monotonic() - began,
            spent=accounts().snapshot(before),
            stopped=watch.stopped,
            message=watch.message,
            error=error,
        )

    def _named_policy(self) -> tuple[str, PolicyOptions]:
        settings = self.settings
        options = self.sources.policy(settings.policy_model, settings.policy_base_url)
        if settings.policy == LLM:
            options = options.resolved(replaying=self.sources.replaying)
            return f"llm:{options.model}", options
        if settings.policy in extra_policies() and settings.policy_base_url is None:
            return f"{settings.policy}:{options.model}" if options.model else settings.policy, options
        given = {name: getattr(settings, name) for name in ("policy_model", "policy_base_url")}
        for name, value in {**given, "role.policy": self.sources.role.get(POLICY)}.items():
            if value is not None:
                what = f"it is for the policy llm, not {settings.policy}"
                raise InputError(what, where=name, fix="Add --policy llm.")
        return settings.policy, options

    def _places(self) -> Places:
        if self.settings.policy != LLM or LLM in self.suite.domain.config.policies or self.sources.replaying:
            return {}
        return {POLICY: (self.options, self.options.endpoint())}

    def _model_hash(self) -> str | None:
        """Hash of the policy's model content and non-default settings; ``None`` if there is neither."""
        given = {name: value for name, value in self.sources.role.get(POLICY, {}).items() if name not in NO_MATTER}
        content = getattr(self._make_policy, "content_hash", None)
        if content is not None:
            return content_key("policy", given, content)[:16]
        return content_key("policy", given)[:16] if given else None

    def _pool(self, on_done: Callable[[Record], None]) -> Pool:
        settings = self.settings
        shared: dict[str, Any] = {"concurrency": settings.concurrency, "timeout": settings.timeout, "on_done": on_done}
        make_pool = pool_of(settings, self.sources)
        if make_pool is None:
            return Pool(self.suite, self.plan, self._make_policy, **shared)
        elsewhere = Elsewhere(
            policy=settings.policy,
            options=self.options,
            address=settings.ray_address,
            workers=settings.ray_workers,
            content_hash=getattr(self._make_policy, "content_hash", None),
        )
        return make_pool(self.suite, self.plan, elsewhere, **shared)

    def _store(self) -> RecordStore:
        """Open the record; without --out, take the next path if another process has just created the chosen one."""
        if self.settings.resume:
            return resume_store(self.path, self.plan)
        while True:
            try:
                return create_store(self.path)
            except TakenError:
                if self.settings.out is not None:
                    raise
            self.path = record_path(self.name, self.policy, resume=False)


def _for_a_person(settings: RunSettings) -> RunSettings:
    """The settings of a run that a person plays: one episode after the other, in this process."""
    if settings.ray:
        raise InputError("a person plays in this process", where="ray", fix="Leave it out.")
    if settings.concurrency not in (1, RunSettings.defaults()["concurrency"]):
        raise InputError("a person plays one episode at a time", where="concurrency", fix="Leave it out.")
    return replace(settings, concurrency=1)


@contextmanager
def opened(settings: RunSettings, sources: ModelSources, records: Collection[Path]) -> Iterator[Resources]:
    """Open the live resources of a run; at the end, close a recorded cassette and delete it if it is empty.

    Args:
        settings: How the run goes.
        sources: Which models play, and how much they may use in the whole run.
        records: The record files of the run that are known already.

    Raises:
        InputError: A setting is invalid, or a cassette cannot be read or written, or is a record.
    """
    for name in _CASSETTES:
        file: Path | None = getattr(sources, name)
        if file and any(file.resolve() in (out.resolve(), sidecar(out).resolve()) for out in records):
            raise InputError(f"{file} is the record of this rollout", where=name, fix="Give another file.")
    pool_of(settings, sources)
    resources = sources.resources(resume=settings.resume)
    try:
        yield resources
    finally:
        cassette = resources.cassette
        if cassette is not None and cassette.mode == "record":
            cassette.close()
            if cassette.path.is_file() and cassette.path.stat().st_size == 0:
                cassette.path.unlink()


def pool_of(settings: RunSettings, sources: ModelSources) -> Callable[..., Pool] | None:
    """The class of pool that distributes episodes to other processes; ``None`` for this process alone.

    Raises:
        InputError: The pool is not installed, or does not support another setting.
    """
    if not settings.ray:
        for name in ("ray_address", "ray_workers"):
            if getattr(settings, name) is not None:
                raise InputError("it is for runs on Ray", where=name, fix="Add --ray.")
        return None
    for name in _CASSETTES:
        if getattr(sources, name) is not None:
            what, fix = "a cassette is one file of one process", "Leave --ray or the cassette out."
            raise InputError(what, where=name, fix=fix)
    return load_pool("ray")
