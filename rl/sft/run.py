"""Runs a supervised training and saves the policy in the Hugging Face format."""

from __future__ import annotations

import shutil
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

from simia_gym.errors import InputError
from simia_gym.rl.chat.thinking import choose_thinking
from simia_gym.rl.chat.tokens import ChatTokens
from simia_gym.rl.chat.trajectories import Trajectory
from simia_gym.rl.resume import check_settings, write_settings
from simia_gym.rl.sft import metrics, trainer, with_verl
from simia_gym.rl.sft.encode import encode_all
from simia_gym.rl.sft.files import write_trajectories
from simia_gym.rl.sft.fresh_ids import FreshIds
from simia_gym.rl.sft.fresh_words import FreshWords
from simia_gym.rl.sft.gather import Gathered, from_experts, from_files
from simia_gym.rl.sft.settings import SFTSettings
from simia_gym.rl.small.card import Card, read_card, write_card

POLICY = "policy"


@dataclass(frozen=True)
class Finished:
    """The result of a training.

    Attributes:
        policy: The folder of the trained policy.
        steps: Number of optimizer steps.
        seconds: Wall time since this start.
        measured: The last loss and accuracy on held-out trajectories; empty without any.
    """

    policy: Path
    steps: int
    seconds: float
    measured: Mapping[str, float]


def train_sft(
    settings: SFTSettings,
    out: Path,
    *,
    resume: bool = False,
    save_data: Path | None = None,
    say: Callable[[str], None] = lambda text: None,
    progress: Callable[[int, int, Mapping[str, float]], None] = lambda step, steps, numbers: None,
    played: Callable[[], None] = lambda: None,
) -> Finished:
    """Train a policy on trajectories.

    Args:
        settings: The settings.
        out: The run's folder; must be empty unless ``resume``.
        resume: Whether to resume from the last checkpoint; needs the same settings.
        save_data: File to which the trajectories are written, too.
        say: Called with a line about each stage of the preparation.
        progress: Called with step, number of steps and metrics.
        played: Called after each episode that an expert has played.

    Returns:
        The policy's folder and the metrics.

    Raises:
        InputError: A setting is wrong, there are no trajectories, or the folder contains another run.
    """
    processes = check(settings, out, resume)
    old = read_card(settings.policy) or Card()
    thinking = choose_thinking(settings.thinking, old.thinking, policy=settings.policy)
    model, tokenizer = trainer.load(settings.policy)
    ChatTokens.of(tokenizer, thinking)  # refuses a template without the switch before anything is played
    gathered = gather(settings, played)
    if thinking == "never" and (removed := gathered.remove_thinking()):
        say(f"thinking is never: it was removed from {removed} trajectories")
    if save_data is not None:
        write_trajectories(save_data, gathered.train)
        say(f"{len(gathered.train)} trajectories written to {save_data}")
    most = settings.max_length or getattr(model.config.get_text_config(), "max_position_embeddings", None)
    train, held_out = (
        encode_all(tokenizer, [item.messages for item in items], max_length=most, thinking=thinking)
        for items in (gathered.train, gathered.held_out)
    )
    learned = sum(row.learned for row in train.rows)
    read = sum(len(row.input_ids) for row in train.rows)
    left_out = train.too_long + held_out.too_long
    longest = max(train.longest, held_out.longest)
    say(f"{len(train.rows)} training trajectories, {len(held_out.rows)} held out")
    say(
        f"left out: {left_out} longer than {most or 'any number of'} tokens (the longest has {longest}), "
        f"{gathered.below} with too little reward, {gathered.faults} with faults"
    )
    say(f"{learned} of {read} tokens are the policy's and are learned ({learned / max(1, read):.1%})")

    if not resume:
        out.mkdir(parents=True, exist_ok=True)
        write_settings(out, asdict(settings))
    checkpoint = trainer.last_checkpoint(out) if resume and processes == 1 else None
    done = -1 if checkpoint is None else int(checkpoint.name.rpartition("-")[2])
    if resume:
        done = with_verl.latest_step(out) if processes > 1 else done
        say("starting again: there is no checkpoint yet" if done < 0 else f"resuming after step {done}")
    before = metrics.forget_after(out, done)
    began = time.monotonic()

    def on_log(step: int, steps: int, numbers: Mapping[str, float]) -> None:
        metrics.write_line(out, {"step": step, "seconds": round(before + time.monotonic() - began, 2), **numbers})
        progress(step, steps, numbers)

    folder = out / POLICY
    if processes > 1:
        say(f"verl trains in {processes} processes (--processes 1: TRL in one); log: {out / with_verl.LOG}")
        run = with_verl.VerlRun(settings, out, processes, model.config, train, held_out)
        del model
        if held_out.rows and not run.validates:
            say(f"held-out trajectories do not fill a batch of {settings.batch_size}, so verl measures none")
        shutil.copytree(run.train(on_log, resume=resume), folder, dirs_exist_ok=True)
        steps = run.steps
        looks = [line for line in metrics.read_lines(out) if "eval_loss" in line]
        measured = {"eval_loss": float(looks[-1]["eval_loss"])} if looks else {}
    else:
        runner = trainer.make_trainer(model, tokenizer, train, held_out, settings, out, on_log=on_log)
        runner.train(resume_from_checkpoint=None if checkpoint is None else str(checkpoint))
        measured = trainer.last_evaluation(runner) if held_out.rows else {}
        runner.model.to("cpu").save_pretrained(folder)
        steps = runner.state.global_step
    tokenizer.save_pretrained(folder)
    facts = {
        "how": "sft",
        "steps": steps,
        "trajectories": len(train.rows),
        "too_long": left_out,
        "kinds": gathered.kinds,
        "settings": asdict(settings),
        **{name: value for name, value in measured.items() if name in ("eval_loss", "eval_mean_token_accuracy")},
    }
    envs = settings.envs or tuple(dict.fromkeys(item.env for item in gathered.train if item.env))
    now: dict[str, Any] = {"prompt": settings.prompt, "turn_tokens": None, "thinking": thinking}
    card = replace(old, envs=envs or old.envs, trained=(*old.trained, facts), **now)
    write_card(folder, card)
    metrics.draw(out, f"supervised training on {', '.join(envs) or 'a data set'}, {settings.prompt} prompt")
    return Finished(folder, steps, time.monotonic() - began, measured)


def gather(settings: SFTSettings, played: Callable[[], None] = lambda: None) -> Gathered:
    """Gather the trajectories of a training; ``played`` is called after each episode of an expert.

    Raises:
        InputError: There are no trajectories, or one has another kind of system message than the settings.
    """
    asked: dict[str, Any] = {"held_out": settings.held_out, "prompt": settings.prompt, "least": settings.least}
    if settings.data:
        found = from_files([Path(name) for name in settings.data], envs=settings.envs, **asked)
    else:
        asked |= {"seed": settings.seed, "expert": settings.expert}
        found = from_experts(settings.envs, settings.trajectories, on_one=played, **asked)
    other = sum(bool(item.prompt) and item.prompt != settings.prompt for item in (*found.train, *found.held_out))
    if other:
        what = f"{other} conversations were held with another prompt than {settings.prompt!r}"
        raise InputError(what, where="prompt", fix="Set the prompt of the conversations.")
    found.train, found.held_out = _shortened(found.train, settings), _shortened(found.held_out, settings)
    random = Random(settings.seed)
    for wanted, exchange in ((settings.fresh_words, FreshWords), (settings.fresh_ids, FreshIds)):
        if wanted:
            fresh = exchange([item.messages for item in found.train], random)
            found.train = [replace(item, messages=fresh.of(item.messages)) for item in found.train]
    return found


def _shortened(trajectories: Sequence[Trajectory], settings: SFTSettings) -> list[Trajectory]:
    """Shorten trajectories to ``first_turns``, except one of ``whole_every``, counted for each kind of task."""
    every, turns = settings.whole_every, settings.first_turns
    seen: Counter[tuple[str, str]] = Counter()
    kept: list[Trajectory] = []
    for item in trajectories:
        kind = (item.env, item.kind)
        seen[kind] += 1
        place = seen[kind] + list(seen).index(kind)  # kinds differ in their first whole one
        kept.append(item if every and place % every == 0 else item.begun(turns))
    return kept


def check(settings: SFTSettings, out: Path, resume: bool) -> int:
    """Check that the run can start, in an empty folder or (to resume) that of the same run; return its processes.

    Raises:
        InputError: The run cannot start.
    """
    processes = trainer.number_of_processes(settings)
    if processes > 1:
        with_verl.check(settings, processes)
    if resume:
        check_settings(out, asdict(settings))
    elif out.exists() and (not out.is_dir() or any(out.iterdir())):
        fix = "Give another --out, or resume with --resume."
        raise InputError("the folder is not empty", where=str(out), fix=fix)
    return processes
