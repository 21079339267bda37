"""Runs one training: prepares it, starts verl unmodified, follows its progress and exports the trained policy."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from types import FrameType
from typing import Any

from simia_gym.common.formatting import counted, number, percent
from simia_gym.common.output import Output, tell, to_continue
from simia_gym.common.writing import write_whole
from simia_gym.errors import InputError
from simia_gym.evaluation.health import health_lines
from simia_gym.llm.accounts import in_short
from simia_gym.rl.extras import require
from simia_gym.rl.grpo.config.options import GrpoOptions, RunPlan, make_plan
from simia_gym.rl.grpo.config.profile import load_profile
from simia_gym.rl.grpo.config.verl_config import as_yaml, check_supported, compose, overrides
from simia_gym.rl.grpo.dataset import Weighted
from simia_gym.rl.grpo.expert_lengths import chosen_length, measure_responses, with_room
from simia_gym.rl.grpo.prepare import (
    addresses,
    load_worlds,
    look_at_worlds,
    make_policy,
    read_config,
    write_agent_loops,
    write_data,
)
from simia_gym.rl.grpo.run import checkpoints
from simia_gym.rl.grpo.run.environment import make_ray_folder, variables
from simia_gym.rl.grpo.run.episodes import TRAIN, forget_after, forget_validation
from simia_gym.rl.grpo.run.metrics import Episodes, Metrics, draw, go_back, make_up, read_metrics, summed, totals
from simia_gym.rl.grpo.run.progress import TrainingDisplay, on_split
from simia_gym.rl.grpo.run.run_folder import RunFolder, fixed, only_one
from simia_gym.rl.resume import check_settings, write_settings
from simia_gym.rl.small.card import Card, read_card, write_card
from simia_gym.rl.verl_run.hydra import QUIET_HYDRA
from simia_gym.rl.verl_run.log import last_error
from simia_gym.rl.verl_run.process import Training, end_marked
from simia_gym.rollout.stopping import Terminated

NEEDED = ("torch", "transformers", "verl", "ray", "transfer_queue", "hydra")
_LOOK = 0.5
_DRAW_EVERY = 30.0
"""Seconds between two reads of the metrics, and between two drawings of the learning curve."""


@dataclass(frozen=True)
class Start:
    """Where a start of a training begins.

    Attributes:
        step: Number of finished steps.
        checkpoint: The checkpoint to resume from; ``None`` for a new training.
        validate: Whether to validate before the first step.
    """

    step: int = 0
    checkpoint: Path | None = None
    validate: bool = False


def run_grpo(asked: GrpoOptions) -> int:
    """Train, or with ``--dry-run`` only print the plan.

    Returns:
        The exit code: 0, 1 (the training ended early), 130 (interrupted), 143 (by SIGTERM).

    Raises:
        InputError: An option is wrong or something is missing; nothing has been started.
    """
    require("rl", *NEEDED)
    output = Output(asked.json)
    plan = make_plan(asked, load_profile(asked.launch.profile))
    folder = RunFolder((asked.launch.out or Path("runs") / plan.name).resolve())
    if folder.begun and (asked.launch.out is not None if asked.launch.dry_run else not asked.launch.resume):
        fix = "Give another --out." if asked.launch.dry_run else "Resume it with --resume, or give another --out."
        raise InputError(f"the folder {folder.path} contains a training", where="--out", fix=fix)
    if asked.launch.dry_run:
        from simia_gym.rl.grpo.dry_run import show_plan

        return show_plan(output, asked, plan, folder)
    check_machine(plan)
    length = chosen_length(asked, plan, folder)
    if length is not None:
        plan = replace(plan, max_response_length=length)
    if asked.launch.resume:
        check_settings(folder.path, plan.to_json(), fixed)
    with _sigterm_as_exception():
        try:
            return _run(output, asked, plan, folder, measure=length is None)
        except KeyboardInterrupt as stop:
            tell(f"interrupted; continue with: {to_continue(folder.path)}" if folder.begun else "interrupted")
            return 143 if isinstance(stop, Terminated) else 130


def check_machine(plan: RunPlan) -> None:
    """Check that this machine has what the profile and the engine need.

    Raises:
        InputError: Something is missing; names it.
    """
    if plan.engine == "vllm" and find_spec("vllm") is None:
        fix = "On CPU run `simia train setup-vllm`; with a GPU run: pip install vllm==0.24.0"
        raise InputError("vllm is not installed", where="--engine vllm", fix=fix)
    card = shutil.which("nvidia-smi") or shutil.which("rocm-smi") or Path("/dev/nvidia0").exists()
    if plan.profile.own_ray and not plan.profile.on_cpu and not card:
        fix = "Use --profile cpu, or print the plan with --dry-run."
        raise InputError("this machine has no GPU", where=f"--profile {plan.profile.name}", fix=fix)
    key = os.environ.get("WANDB_API_KEY") or os.environ.get("WANDB_MODE") or (Path.home() / ".netrc").is_file()
    if "wandb" in plan.logger and not key:
        fix = "Set the variable WANDB_API_KEY, or WANDB_MODE=offline."
        raise InputError("there is no key for Weights & Biases", where="--logger wandb", fix=fix)


def _run(output: Output, asked: GrpoOptions, plan: RunPlan, folder: RunFolder, *, measure: bool) -> int:
    private = addresses(asked, plan)
    worlds, validation = load_worlds(asked, plan)
    look_at_worlds(output, asked, worlds)
    folder.path.mkdir(parents=True, exist_ok=True)
    with only_one(folder):
        if left := end_marked(folder.path):
            output.say(f"ended {counted(left, 'process')} of an earlier start of this training")
        if not folder.begun:  # files of a start that failed before the training, perhaps with other settings
            shutil.rmtree(folder.start_policy, ignore_errors=True)
            folder.data.unlink(missing_ok=True)
        policy = make_policy(output, plan, folder.start_policy)
        if measure:
            plan = _roomy(output, plan, worlds, policy)
        rows = write_data(folder, plan, worlds, validation, policy)
        start = _where_to_begin(output, plan, folder)
        if start.step >= plan.steps:
            return _finish(output, plan, folder, began=None)
        attempt = folder.new_attempt()
        own = make_ray_folder(folder) if plan.profile.own_ray else None
        environment = variables(plan.profile, folder, policy, attempt)
        try:
            words = overrides(
                plan,
                run=folder.path,
                policy=policy,
                rows=rows,
                environment=environment,
                resume_from=start.checkpoint,
                validate_first=start.validate,
                ray_folder=own,
                model=read_config(policy),
            )
            config = compose(words)
            check_supported(config)
            write_whole(folder.path / "verl.yaml", as_yaml(config))
            write_agent_loops(folder, asked, plan, int(config.actor_rollout_ref.rollout.agent.num_workers))
            write_settings(folder.path, plan.to_json())
            known = not plan.dynamic_sampling and config.trainer.v1.trainer_mode == "sync"
            size = plan.groups * plan.group_size if known else None
            display = TrainingDisplay(output, plan.name, steps=plan.steps, done=start.step, episodes=size)
            return _train(output, plan, folder, start, words, environment | private, attempt, display)
        finally:
            if own is not None:
                shutil.rmtree(own, ignore_errors=True)
            shutil.rmtree(folder.path / ".cache", ignore_errors=True)


def _roomy(output: Output, plan: RunPlan, worlds: Weighted, policy: str) -> RunPlan:
    """Let the longest response follow from the expert's episodes under the policy's tokenizer, and say so."""
    roomy = with_room(plan, measure_responses(worlds, policy), policy)
    if roomy.max_response_length != plan.max_response_length:
        before, now = plan.max_response_length, roomy.max_response_length
        why = f"the expert's do not fit into the {before:,} of the profile"
        output.say(f"episodes may take {now:,} tokens behind the prompt: {why}")
    return roomy


def _where_to_begin(output: Output, plan: RunPlan, folder: RunFolder) -> Start:
    """Find the latest checkpoint, and remove incomplete results of earlier starts."""
    for step in checkpoints.remove_incomplete(folder.checkpoints):
        output.say(f"removed the incomplete checkpoint of step {step}")
    latest = checkpoints.latest_complete(folder.checkpoints)
    if latest is None:
        if folder.begun:
            output.say("no checkpoint yet: starting again from step 0")
            go_back(folder, -1)
        forget_after(folder.path, -1)  # an earlier start may have left only episodes
        return Start(validate=bool(plan.validation_every))
    step = checkpoints.step_of(latest)
    output.say(f"resuming after step {step}")
    missing = go_back(folder, step)
    forget_after(folder.path, step)
    if not missing:
        return Start(step, latest)
    # verl saves a step before it validates and logs it; a run stopped in between has a checkpoint without metrics.
    if plan.validation_every and step % plan.validation_every == 0 and step < plan.steps:
        forget_validation(folder.path, step)
        return Start(step, latest, validate=True)
    make_up(folder, step)
    return Start(step, latest)


def _train(
    output: Output,
    plan: RunPlan,
    folder: RunFolder,
    start: Start,
    words: list[str],
    environment: dict[str, str],
    attempt: Path,
    display: TrainingDisplay,
) -> int:
    output.say(f"training in {folder.path}; log: {folder.log.name}, metrics: {folder.metrics.name}")
    metrics = Metrics(folder, attempt)
    command = [sys.executable, "-m", "verl.trainer.main_ppo", *words, *QUIET_HYDRA]
    began = time.monotonic()
    with folder.log.open("ab") as log:
        offset = log.tell()
        training = Training(folder.path, command, environment, log)
        try:
            with display.bar:
                _watch(training, metrics, display, folder, plan, start)
        except KeyboardInterrupt as stop:
            output.say("stopping the training")
            training.stop(at_once=isinstance(stop, Terminated))
            raise
        finally:
            training.sweep()
    metrics.look()
    if training.exit_code == 0 and metrics.written and int(metrics.written[-1]["step"]) >= plan.steps:
        return _finish(output, plan, folder, began=began)
    return failed(output, plan, folder, offset, training.exit_code)


def _watch(
    training: Training,
    metrics: Metrics,
    display: TrainingDisplay,
    folder: RunFolder,
    plan: RunPlan,
    start: Start,
) -> None:
    """Update metrics, curve and progress until the training ends."""
    drawn, step = 0.0, start.step
    while True:
        ended = training.exit_code is not None
        for line in metrics.look():
            display.step(line)
            step = int(line["step"])
        if metrics.written and time.monotonic() - drawn > _DRAW_EVERY and not ended:
            draw(folder, plan.name)
            drawn = time.monotonic()
        if ended:
            return
        display.waiting(metrics.ended(step + 1), step + 1)
        training.wait(_LOOK)


def _finish(output: Output, plan: RunPlan, folder: RunFolder, began: float | None) -> int:
    lines = read_metrics(folder.metrics)
    draw(folder, plan.name)
    latest = checkpoints.latest_complete(folder.checkpoints)
    if latest is None:
        tell(f"the training has ended without a complete checkpoint in {folder.checkpoints}")
        return 1
    checkpoints.export_policy(latest, folder.policy)
    sums = totals(lines)
    _write_card(plan, folder, sums)
    facts: dict[str, Any] = {"run": str(folder.path), "policy": str(folder.policy), "curve": str(folder.curve), **sums}
    if began is not None:
        facts["seconds"] = round(time.monotonic() - began, 1)
    for text in last_words(sums, plan, folder, facts.get("seconds")):
        output.say(text)
    output.result({"trained": True, **facts})
    return 0


def _write_card(plan: RunPlan, folder: RunFolder, sums: dict[str, Any]) -> None:
    """Write the card of the trained policy: how it was created and trained."""
    before = read_card(plan.policy or folder.start_policy) or Card()
    names = [str(config.domain or config.env) for config, _ in plan.environments]
    entry = {"by": "grpo", "envs": names, "seed": plan.seed, "learning_rate": plan.learning_rate, **sums}
    entry.pop("health", None)  # of one step, for whoever watches the training
    envs = tuple(dict.fromkeys((*before.envs, *names)))
    trained = (*before.trained, entry)
    longest = plan.turn_tokens or plan.max_response_length
    card = replace(before, envs=envs, trained=trained, prompt=plan.prompt, turn_tokens=longest, thinking=plan.thinking)
    write_card(folder.policy, card)


def last_words(sums: dict[str, Any], plan: RunPlan, folder: RunFolder, seconds: float | None) -> Iterator[str]:
    """Lines of the final report."""
    took = "" if seconds is None else f" in {seconds:.0f} s"
    yield f"{counted(sums['steps'], 'step')}, {counted(sums['episodes'], 'episode')}{took}"
    if sums["masked"]:
        kinds = ", ".join(f"{name} {count:,}" for name, count in sorted(sums["faults"].items()))
        share = percent(sums["masked"] / sums["episodes"])
        yield f"masked, because of faults: {counted(sums['masked'], 'episode')} ({share}; {kinds})"
    if "reward" in sums:
        prompt = f" (prompt {plan.prompt})"
        yield f"last step: reward {number(sums['reward'])}, success {percent(sums['success'])}{prompt}"
        yield from (f"  {line}" for line in health_lines(sums.get("health", {})))
    if look := sums.get("validation"):
        words = f"reward {number(look['reward'])}, success {percent(look['success'])} (prompt {plan.prompt})"
        yield f"{on_split(look)} after step {look['step']}: {words} over {counted(look['episodes'], 'episode')}"
    if models := sums.get("models"):
        yield f"models of the world: {in_short(models)}"
    yield f"policy: {folder.policy}"
    for config, _ in plan.environments:
        env, policy = (shlex.quote(str(part)) for part in (config.domain or config.env, folder.policy))
        command = f"simia evaluate {env} --policy hf --policy-model {policy} --prompt {plan.prompt} --split test"
        yield f"to score it on test, once and last: {command}"
    yield f"curve: {folder.curve}"


def failed(output: Output, plan: RunPlan, folder: RunFolder, offset: int, code: int | None) -> int:
    """Report why a training ended early and how to continue; this start begins at ``offset`` bytes of the log.

    If no step finished, its folder can be used again.
    """
    reason = last_error(folder.log, offset) or f"verl ended with exit code {code}"
    latest = checkpoints.latest_complete(folder.checkpoints)
    kept = "no checkpoint yet" if latest is None else f"the last complete checkpoint is {latest}"
    lines = read_metrics(folder.metrics)
    if lines:
        draw(folder, plan.name)
    tell(f"the training ended early: {reason} (see {folder.log}; {kept})")
    step = int(lines[-1]["step"]) + 1 if lines else 1
    if faults := summed(Episodes(folder.path).of(step, TRAIN)).get("faults"):
        told = ", ".join(f"{name} {count:,}" for name, count in faults.items())
        tell(f"faults in step {step}: {told}")
    if lines or latest is not None:
        tell(f"continue with: {to_continue(folder.path)}")
    else:
        folder.settings.unlink(missing_ok=True)
        tell("no step has finished: fix the error, then run the same command again")
    output.result({"trained": False, "run": str(folder.path), "error": reason, **totals(lines)})
    return 1


@contextmanager
def _sigterm_as_exception() -> Iterator[None]:
    """Raise `Terminated` on SIGTERM, which batch systems send, so that the launch shuts down in order."""

    def answer(number: int, frame: FrameType | None) -> None:
        raise Terminated

    free = signal.getsignal(signal.SIGTERM) is signal.SIG_DFL  # else the caller has installed a handler
    if free:
        signal.signal(signal.SIGTERM, answer)
    try:
        yield
    finally:
        if free:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
