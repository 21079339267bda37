"""``simia train sft``: from trajectories to a policy."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from simia_gym.domain.naming import slug
from simia_gym.errors import InputError

_EVERY = 10.0
"""Seconds between two lines about the progress."""


def sft(
    envs: Annotated[
        list[str] | None,
        typer.Argument(help="Environments, or folders of domains, whose experts are to be learned from."),
    ] = None,
    policy: Annotated[
        str | None,
        typer.Option(help="Model to begin with, in the layout of Hugging Face; else a small one is made from nothing."),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Folder of the run; else runs/sft-ENV.")] = None,
    trajectories: Annotated[
        int | None,
        typer.Option(
            help="Expert trajectories to learn from, of tasks for training; else 2000, or all that there are where no "
            "tasks are generated."
        ),
    ] = None,
    expert: Annotated[
        str, typer.Option(help="Which of the environments' own policies plays; retail has `thinker`, too.")
    ] = "expert",
    data: Annotated[
        list[Path] | None,
        typer.Option(help="Record file of `simia rollout`, or JSONL or Parquet with `messages`; repeatable."),
    ] = None,
    least_reward: Annotated[float, typer.Option(help="The least reward that is worth learning from.")] = 1.0,
    fresh_ids: Annotated[
        bool,
        typer.Option("--fresh-ids", help="Other ids in every trajectory: the policy learns to copy, not to remember."),
    ] = False,
    fresh_words: Annotated[
        bool,
        typer.Option("--fresh-words", help="Other words, too, where an expert says what it has read before."),
    ] = False,
    first_turns: Annotated[
        int | None, typer.Option(help="Learn only from so many turns at the beginning of each; else from all.")
    ] = None,
    whole_every: Annotated[
        int | None, typer.Option(help="With --first-turns: keep one of so many whole all the same.")
    ] = None,
    held_out: Annotated[
        int | None,
        typer.Option(
            help="Trajectories of further tasks that are only looked at; else 64, but of --data, or where no tasks are "
            "generated, those of a tenth of the tasks at most."
        ),
    ] = None,
    prompt: Annotated[
        str, typer.Option(help="System message: full or compact. It is recorded with the policy.")
    ] = "full",
    epochs: Annotated[float, typer.Option(help="How often to go through the trajectories.")] = 1.0,
    steps: Annotated[int | None, typer.Option(help="Steps of the optimizer, in place of --epochs.")] = None,
    lr: Annotated[float, typer.Option(help="Highest learning rate.")] = 1e-3,
    batch_size: Annotated[int, typer.Option(help="Trajectories a step.")] = 16,
    micro_batch: Annotated[
        int | None,
        typer.Option(help="Trajectories that are computed at once; else all of a step, on a processor about 16."),
    ] = None,
    max_length: Annotated[
        int, typer.Option(help="Most tokens of a trajectory; longer ones are left out and counted.")
    ] = 2048,
    precision: Annotated[str, typer.Option(help="fp32, bf16 or auto.")] = "auto",
    seed: Annotated[int, typer.Option(help="Seed of weights, order and wording.")] = 0,
    size: Annotated[
        str | None, typer.Option(help="Shape of the model that is made where --policy is left out; else small.")
    ] = None,
    save_data: Annotated[
        Path | None, typer.Option(help="Write the trajectories as a data set, too (.jsonl or .parquet).")
    ] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Any field of trl.SFTConfig; repeatable.")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on from the last checkpoint in --out.")] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON value as the last line of standard output.")
    ] = False,
) -> None:
    """Train a policy on trajectories of experts, of rollouts or of a data set; only on what the policy said."""
    from simia_gym.common.output import Output
    from simia_gym.rl.extras import require
    from simia_gym.rl.sft.run import check, train_sft
    from simia_gym.rl.sft.settings import SFTSettings

    require("trl", "torch", "transformers", "trl", "datasets")
    output = Output(as_json)
    folder = out or Path("runs") / f"sft-{_short(envs or [])}"
    if policy and size:
        raise InputError("it is for a new model", where="--size", fix="Leave out --size or --policy.")
    start = Path(f"{folder if folder.name.strip('.') else folder.resolve()}-start")
    settings = SFTSettings(
        envs=tuple(envs or ()),
        policy=policy or str(start),
        prompt=prompt,
        trajectories=trajectories,
        expert=expert,
        data=tuple(map(str, data or ())),
        least=least_reward,
        fresh_ids=fresh_ids,
        fresh_words=fresh_words,
        first_turns=first_turns,
        whole_every=whole_every,
        held_out=held_out,
        epochs=epochs,
        steps=steps,
        lr=lr,
        batch_size=batch_size,
        micro_batch=micro_batch,
        max_length=max_length,
        precision=precision,
        seed=seed,
        extra=_extra(set_ or []),
    )
    check(settings, folder, resume)
    if policy is None:
        _start(start, envs or [], size or "small", seed, expert, output)
    finished = train_sft(
        settings,
        folder,
        resume=resume,
        save_data=save_data,
        say=output.say,
        progress=_Progress(output),
        played=_Played(output),
    )
    output.say(f"{finished.steps} steps in {finished.seconds:.0f} s; the policy is in {finished.policy}")
    measured = dict(finished.measured)
    output.result({"policy": str(finished.policy), "steps": finished.steps, "seconds": finished.seconds, **measured})


class _Progress:
    """A line now and then, and one for each look at what is held out."""

    def __init__(self, output: Any) -> None:
        self._output = output
        self._began = self._said = time.monotonic()
        self._first: int | None = None

    def __call__(self, step: int, steps: int, numbers: Mapping[str, float]) -> None:
        now = time.monotonic()
        if self._first is None:
            self._first = step
        looked_at = "eval_loss" in numbers
        if not looked_at and ("loss" not in numbers or (now - self._said < _EVERY and step < steps)):
            return
        self._said = now
        begin = "eval_" if looked_at else ""
        loss, accuracy = numbers[f"{begin}loss"], numbers.get(f"{begin}mean_token_accuracy", float("nan"))
        name = "held out" if looked_at else "learned from"
        left = (now - self._began) / max(1, step - self._first) * (steps - step)
        self._output.say(
            f"step {step}/{steps}  {name}: loss {loss:.3f}, accuracy {accuracy:.1%}"
            + (f"  ({left:.0f} s to go)" if step > self._first else "")
        )


class _Played:
    """A line now and then about experts at play."""

    def __init__(self, output: Any) -> None:
        self._output, self._number, self._said = output, 0, time.monotonic()

    def __call__(self) -> None:
        self._number += 1
        if time.monotonic() - self._said >= _EVERY:
            self._said = time.monotonic()
            self._output.say(f"{self._number} episodes played by experts")


def _start(folder: Path, envs: list[str], size: str, seed: int, expert: str, output: Any) -> None:
    """Make the model to begin with, or make sure that the one that is there already is what would be made."""
    from simia_gym.rl.small.build import build_policy
    from simia_gym.rl.small.card import read_card

    if not envs:
        fix = "Give --policy, or name environments, whose text a new policy's tokenizer learns."
        raise InputError("there is no policy to begin with", where="--policy", fix=fix)
    if not (folder / "config.json").exists():
        build_policy(folder, envs, size=size, seed=seed, expert=expert, say=output.say)
        return
    card = read_card(folder)
    before = {} if card is None else {"envs": list(card.envs), "copying": False, "expert": "expert", **card.made}
    asked = {"envs": list(dict.fromkeys(envs)), "size": size, "seed": seed, "copying": False, "expert": expert}
    other = [f"{name}={before.get(name)!r}" for name, value in asked.items() if before.get(name) != value]
    if other:
        fix = "Delete it, name another folder with --out, or begin with it by --policy."
        raise InputError(f"the policy that is there was made with {', '.join(other)}", where=str(folder), fix=fix)
    output.say(f"begins with the new policy that is there, {folder}")


def _short(envs: list[str]) -> str:
    return "-".join(slug(env.removeprefix("simia/").rpartition("-v")[0] or env) for env in envs) or "data"


def _extra(words: list[str]) -> dict[str, Any]:
    """Settings given as KEY=VALUE, the value in JSON where it is JSON."""
    found: dict[str, Any] = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not equals or not key.isidentifier():
            raise InputError(
                f"{word!r} is no setting", where="--set", fix="Write KEY=VALUE, such as max_grad_norm=0.5."
            )
        try:
            found[key] = json.loads(value)
        except ValueError:
            found[key] = value
    return found
