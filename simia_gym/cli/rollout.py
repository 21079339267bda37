"""`simia rollout`, and the part of `simia evaluate` that plays."""

from __future__ import annotations

import os
import shlex
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, cast

from rich.console import RenderableType
from rich.text import Text

from simia_gym.assembly.resources import Resources
from simia_gym.assembly.settings import EnvConfig
from simia_gym.assembly.suite import LLM, Suite, load_suite
from simia_gym.cli.options.models import POLICY, ModelOptions, drop_empty
from simia_gym.cli.terminal.banner import banner, shown_name
from simia_gym.cli.terminal.picture import check_picture, write_picture
from simia_gym.cli.terminal.progress import Display
from simia_gym.cli.terminal.results import fault_lines, results_json, results_table
from simia_gym.cli.terminal.spending import route_lines, spending_lines
from simia_gym.common.formatting import counted
from simia_gym.common.output import Output, tell, to_continue
from simia_gym.domain.naming import parse_options, resolve_env
from simia_gym.errors import InputError
from simia_gym.evaluation.estimate import EXPERT, estimate
from simia_gym.llm.accounts import accounts
from simia_gym.llm.settings import Endpoint, ModelSettings, resolve_model
from simia_gym.policies import Policy, PolicyOptions, policy_hash, policy_names
from simia_gym.policies.extra import extra_policies
from simia_gym.record.records import Record
from simia_gym.rollout.foreign import foreign_code
from simia_gym.rollout.jobs import NO_MATTER, Plan, content_key, plain_config
from simia_gym.rollout.player import make_player
from simia_gym.rollout.pool import Pool
from simia_gym.rollout.pools import Elsewhere, MakePool, load_pool
from simia_gym.rollout.preflight import check_prices, look_at_models, warnings
from simia_gym.rollout.stopping import Terminated, run_until_interrupted
from simia_gym.rollout.store import RecordStore, TakenError, create_store, record_path, resume_store, sidecar
from simia_gym.rollout.summary import Summary, spending_json
from simia_gym.rollout.watch import EndpointLostError, Watch, to_play_again
from simia_gym.types import JsonObject


@dataclass(frozen=True, kw_only=True)
class RolloutOptions:
    """The options of a command that plays episodes, as they were typed.

    Attributes:
        rounds: How often all tasks are played, each time as another group; takes the place of `episodes`.
    """

    env: str
    policy: str = "expert"
    policy_model: str | None = None
    policy_base_url: str | None = None
    episodes: int | None = None
    rounds: int | None = None
    split: str = "train"
    generated: int = 0
    group: int = 1
    seed: int = 0
    concurrency: int = 8
    simulator: str = "auto"
    models: ModelOptions = field(default_factory=ModelOptions)
    user: str | None = None
    data: str | None = None
    domain: str | None = None
    option: tuple[str, ...] = ()
    prompt: str = "full"
    max_turns: int | None = None
    timeout: float | None = None
    out: Path | None = None
    resume: bool = False
    json: bool = False
    svg: Path | None = None
    ray: bool = False
    ray_address: str | None = None
    ray_workers: int | None = None

    def config(self) -> EnvConfig:
        """The environment's settings.

        Raises:
            InputError: One of them cannot be.
        """
        env, domain = resolve_env(self.env, self.domain)
        return EnvConfig(
            env=env,
            split=cast(Literal["train", "test", "all"], self.split),
            generated=self.generated,
            data=self.data,
            domain=domain,
            simulator=self.simulator,
            user=self.user,
            prompt=cast(Literal["full", "compact"], self.prompt),
            options=parse_options(self.option),
            max_turns=self.max_turns,
            **self.models.settings(),
        )

    def named_policy(self) -> tuple[str, PolicyOptions]:
        """The policy as the record names it, with its model and without its address; and its settings.

        Raises:
            InputError: A setting of the language model is missing, or there is none to set it for.
        """
        settings = self.models.policy_settings()
        options = PolicyOptions(model=self.policy_model, base_url=self.policy_base_url, **settings)
        if self.policy == LLM:
            if self.models.replaying:
                options = replace(options, model=resolve_model("policy", options.model))
            else:
                from simia_gym.policies.llm import resolve_options

                options = resolve_options(options)
            return f"llm:{options.model}", options
        if self.policy in extra_policies() and self.policy_base_url is None:
            return f"{self.policy}:{options.model}" if options.model else self.policy, options
        given = (self.policy_model, self.policy_base_url, settings or None)
        for name, value in zip(("--policy-model", "--policy-base-url", "--role policy"), given, strict=True):
            if value is not None:
                raise InputError(f"it is for the policy llm, not {self.policy}", where=name, fix="Add --policy llm.")
        return self.policy, options


@dataclass(frozen=True, kw_only=True)
class Played:
    """A rollout that has come to its end.

    Attributes:
        env: The environment's id.
        shown_as: What people call it.
        policy: The policy, as the record names it.
        summary: What came of it.
        seconds: How long it took.
        path: The record.
        facts: What else the JSON value says.
        lines: What else people are told.
        spent: What models took.
    """

    env: str
    shown_as: str
    policy: str
    summary: Summary
    seconds: float
    path: Path
    facts: JsonObject
    lines: list[str]
    spent: JsonObject


Show = Callable[[Output, RolloutOptions, Played], None]


def run_rollout(asked: RolloutOptions) -> int:
    """Run it.

    Returns:
        The exit code: 0, 1 (some episodes invalid, or stopped early), 130 (interrupted), 143 (by SIGTERM).

    Raises:
        InputError: Something that was typed is wrong.
    """
    return play_and_show(asked, _show)


def play_and_show(asked: RolloutOptions, show: Show) -> int:
    """Play what was asked for, and show what came of it.

    Args:
        asked: The options.
        show: Shows it to people and scripts; not called where the run is interrupted.

    Returns:
        The exit code, as of `run_rollout`.

    Raises:
        InputError: Something that was typed is wrong.
    """
    output = Output(asked.json)
    try:
        config = asked.config()
    except InputError as error:
        raise asked.models.as_typed(error) from None
    _check_files(asked)
    make_pool = _pool_of(asked)
    resources = asked.models.resources(resume=asked.resume)
    try:
        return _run(output, asked, config, resources, make_pool, show)
    finally:
        drop_empty(resources.cassette)


def _pool_of(asked: RolloutOptions) -> MakePool | None:
    """What spreads the episodes over other processes, where that is wanted.

    Raises:
        InputError: It is not installed, or cannot do what else is asked for.
    """
    if not asked.ray:
        for name, value in (("--ray-address", asked.ray_address), ("--ray-workers", asked.ray_workers)):
            if value is not None:
                raise InputError("it is for runs on Ray", where=name, fix="Add --ray.")
        return None
    for name in ("record_cassette", "replay_cassette"):
        if getattr(asked.models, name) is not None:
            what, fix = "a cassette is one file of one process", "Leave --ray or the cassette out."
            raise InputError(what, where=f"--{name.replace('_', '-')}", fix=fix)
    return load_pool("ray")


def _run(
    output: Output,
    asked: RolloutOptions,
    config: EnvConfig,
    resources: Resources,
    make_pool: MakePool | None,
    show: Show,
) -> int:
    try:
        with foreign_code(config.domain or config.env):
            suite = load_suite(config, resources)
    except InputError as error:
        raise asked.models.as_typed(error) from None
    policy, settings = asked.named_policy()
    own, folder = suite.domain.config.policies, suite.domain.folder
    make_policy, place = _policy(asked, settings, suite)
    if not suite.model_names and asked.policy != LLM and resources.simulator is None:
        asked.models.check_used()
    plan = Plan(
        config=plain_config(suite),
        domain_hash=suite.domain.hash,
        policy=policy,
        seed=asked.seed,
        group=asked.group,
        episodes=asked.episodes if asked.rounds is None else len(suite.tasks) * asked.rounds,
        policy_hash=policy_hash(asked.policy, own, folder=folder) or _hash_of(asked, make_policy),
    )
    if plan.torn:
        output.say(f"the last group has {plan.torn} of {plan.group} episodes: --episodes is no multiple of --group")
    env, shown_as = suite.config.env, shown_name(suite)
    path = asked.out or record_path(shown_as, policy, resume=asked.resume)
    facts: JsonObject = {"policy": policy, "split": asked.split, "prompt": asked.prompt}
    if asked.svg is not None:
        check_picture(asked.svg, path)
    if resources.budget is not None and resources.budget.max_cost is not None:
        check_prices({**suite.models.places(suite.model_names), **place})
    began = time.monotonic()
    display = Display(output, shown_as, models=bool(suite.model_names or place))
    watch = Watch(asked.concurrency)

    def on_done(record: Record) -> None:
        display.done(record)
        watch.seen(record)

    if make_pool is None:
        pool = Pool(suite, plan, make_policy, concurrency=asked.concurrency, timeout=asked.timeout, on_done=on_done)
    else:
        elsewhere = Elsewhere(
            policy=asked.policy,
            options=settings,
            address=asked.ray_address,
            workers=asked.ray_workers,
            content_hash=getattr(make_policy, "content_hash", None),
        )
        pool = make_pool(suite, plan, elsewhere, concurrency=asked.concurrency, timeout=asked.timeout, on_done=on_done)
    if asked.resume or not os.path.exists(path):  # else it is refused in a moment
        for worry in look_at_models(suite, place):
            output.say(f"{worry} Going on all the same.")
    with _store(asked, plan, path, shown_as) as store:
        path = store.path
        again = to_continue(path)
        _announce(output, asked, pool, store, settings if place else None)
        trained = getattr(make_policy, "trained_prompt", None)
        if trained not in (None, asked.prompt):
            output.say(f"warning: the policy was trained with --prompt {trained}, and plays with {asked.prompt}")
        watch.begin(pool.halt, store.finished)
        problem: InputError | None = None
        try:
            with display.progress(pool.total):
                # A policy of one's own may compute for long, and must be interruptible while it does.
                waits = bool(suite.model_names or place) and ":" not in asked.policy
                run_until_interrupted(pool.run(store), waits=waits)
        except KeyboardInterrupt as stop:
            output.say(f"interrupted: {pool.summary.all.episodes} of {pool.total} episodes are saved in {path}")
            tell(f"interrupted; continue with: {again}")
            output.result(results_json(env, pool.summary, time.monotonic() - began, path, interrupted=True, **facts))
            return 143 if isinstance(stop, Terminated) else 130
        except EndpointLostError:
            pass  # the watch knows
        except InputError as error:
            problem = error
    summary, seconds = pool.summary, time.monotonic() - began
    if problem is not None:
        if summary.all.episodes:
            output.say(f"{summary.all.episodes} of {pool.total} episodes are saved in {path}")
            output.result(results_json(env, summary, seconds, path, error=str(problem), **facts))
        raise problem
    spent = accounts().snapshot()
    calls = None if summary.reused else spent.get("simulator", {}).get("calls")
    stateless = bool(suite.model_names) and suite.strategy == "reference"
    lines = [*fault_lines(summary), *route_lines(summary, asked=calls, stateless=stateless)]
    lines += spending_lines(spent, resumed=summary.reused > 0)
    if watch.stopped is not None:
        facts["stopped"] = watch.stopped
        lines.append(f"stopped: {watch.message}; {summary.all.valid} of {pool.total} episodes are done")
    lines += _to_go_on(asked, watch, pool, again)
    played = Played(
        env=env,
        shown_as=shown_as,
        policy=policy,
        summary=summary,
        seconds=seconds,
        path=path,
        facts=facts,
        lines=[*lines, f"record: {path}"],
        spent=spent,
    )
    show(output, asked, played)
    return 1 if summary.invalid or watch.stopped else 0


def _show(output: Output, asked: RolloutOptions, played: Played) -> None:
    """The table by kind of task, and what else there is to say."""
    summary = played.summary
    title = f"{played.shown_as} · {played.policy} · {asked.split}"
    shown: list[RenderableType] = [results_table(title, summary)]
    shown += [Text(line) for line in played.lines]
    for part in shown:
        output.console.print(part, soft_wrap=isinstance(part, Text))
    # Before anything else that can fail: a script that listens gets its line in any case.
    more = {**played.facts, **spending_json(summary, played.spent)}
    output.result(results_json(played.env, summary, played.seconds, played.path, **more))
    if asked.svg is not None:
        write_picture(asked.svg, shlex.join(["simia", "rollout", *_typed(asked)]), *shown)
        output.say(f"picture: {asked.svg}")


def _policy(
    asked: RolloutOptions, settings: PolicyOptions, suite: Suite
) -> tuple[Callable[[], Policy], dict[str, tuple[ModelSettings, Endpoint]]]:
    """What makes the policy of one episode; and where its model is asked, if it is one that is asked."""
    own = suite.domain.config.policies
    if asked.policy == EXPERT and EXPERT not in policy_names(own):
        fix = "Give --policy llm, or module:Class of your own."
        raise InputError(f"{suite.domain.name} has no expert", where="--policy", fix=fix)
    make = make_player(asked.policy, settings, suite)
    if asked.policy != LLM or LLM in own or asked.models.replaying:
        return make, {}
    from simia_gym.policies.llm import endpoint_of, model_settings

    return make, {POLICY: (model_settings(settings), endpoint_of(settings))}


def _hash_of(asked: RolloutOptions, make_policy: Callable[[], Policy]) -> str | None:
    """Stands in the record for which model the policy's is, and how it is used, where that is not as it comes."""
    given = {name: value for name, value in asked.models.policy_settings().items() if name not in NO_MATTER}
    content = getattr(make_policy, "content_hash", None)
    if content is not None:
        return content_key("policy", given, content)[:16]
    return content_key("policy", given)[:16] if given else None


def _announce(
    output: Output, asked: RolloutOptions, pool: Pool, store: RecordStore, policy: PolicyOptions | None
) -> None:
    suite = pool.suite
    output.say(banner(suite, policy=pool.plan.policy, prompt=asked.prompt, seed=asked.seed))
    for warning in warnings(suite):
        output.say(f"warning: {warning}")
    expected = None
    if not asked.models.replaying:
        expected = estimate(
            suite, pool.total - len(store.finished), group=asked.group, player=asked.policy, policy=policy
        )
    if expected is not None:
        output.say(str(expected))
    if store.finished:
        output.say(f"resuming {store.path}: episodes that are there already: {len(store.finished)}")


def _to_go_on(asked: RolloutOptions, watch: Watch, pool: Pool, command: str) -> list[str]:
    """How to get the episodes that are missing or have no reward by no fault of their own."""
    again = to_play_again(pool.summary)
    if watch.stopped is None and not again:
        return []
    if watch.stopped is None:
        return [f"to play {counted(again, 'episode')} with such faults again: {command}"]
    lines = [f"continue with: {command}"]
    if watch.stopped == "budget":
        cassette = (
            "" if asked.models.record_cassette else "; --record-cassette keeps answers, so that none is paid for twice"
        )
        lines.append(f"--resume plays episodes with faults again, and the budget counts anew{cassette}")
    else:
        lines.append("--resume plays episodes with faults again: mend the endpoint first, `simia doctor` looks at it")
    return lines


def _check_files(asked: RolloutOptions) -> None:
    """Make sure that record and cassette are two files.

    Raises:
        InputError: They are one.
    """
    if asked.out is None:
        return
    for name in ("record_cassette", "replay_cassette"):
        cassette: Path | None = getattr(asked.models, name)
        if cassette is not None and cassette.resolve() in (asked.out.resolve(), sidecar(asked.out).resolve()):
            option = f"--{name.replace('_', '-')}"
            raise InputError(f"{cassette} is the record of this rollout", where=option, fix="Give another file.")


def _store(asked: RolloutOptions, plan: Plan, path: Path, name: str) -> RecordStore:
    """Open the record; a path that nobody has typed and that has just been taken gives way to the next one."""
    if asked.resume:
        return resume_store(path, plan)
    while True:
        try:
            return create_store(path)
        except TakenError:
            if asked.out is not None:
                raise
        path = record_path(name, plan.policy, resume=False)


def _typed(asked: RolloutOptions) -> list[str]:
    """The command for the picture, without where its files went."""
    words = [asked.env]
    default = RolloutOptions(env=asked.env)
    of_models = ("model", "user_model", "judge", "judge_model", "strategy", "feedback")
    names = ("policy", "policy_model", "episodes", "split", "generated", "group", "seed", "simulator", "user")
    for typed, plain, some in ((asked, default, names), (asked.models, default.models, of_models)):
        for name in some:
            value = getattr(typed, name)
            if value != getattr(plain, name):
                words += [f"--{name.replace('_', '-')}", str(value)]
    return words
