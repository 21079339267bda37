"""``simia train sft``: from trajectories to a policy."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Optional

import typer

from simia_gym.cli.options.generate import AsJson, Typed, with_options
from simia_gym.domain.naming import slug
from simia_gym.errors import InputError
from simia_gym.rl.sft.settings import SFTSettings

_EVERY = 10.0
"""Seconds between two lines about the progress."""


@with_options(SFTSettings)
def sft(
    typed: Typed,
    envs: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Argument(metavar="ENV...", help="Environments, or folders of domains, whose experts to learn from."),
    ] = None,
    policy: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(
            metavar="MODEL", help="Model to begin with, in the layout of Hugging Face. Else a small one is made."
        ),
    ] = None,
    out: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(metavar="DIR", help="Folder of the run. Else runs/sft-ENV."),
    ] = None,
    size: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(metavar="NAME", help="Shape of the model that is made where --policy is left out. Else small."),
    ] = None,
    save_data: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(metavar="FILE", help="Write the trajectories as a data set, too (.jsonl or .parquet)."),
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on from the last checkpoint in --out.")] = False,
    json: AsJson = False,
) -> int:
    """Train a policy on trajectories of experts, of rollouts or of a data set; only on what the policy said."""
    from simia_gym.common.output import Output
    from simia_gym.rl.extras import require
    from simia_gym.rl.sft.run import check, train_sft

    require("trl", "torch", "transformers", "trl", "datasets")
    output = Output(json)
    folder = out or Path("runs") / f"sft-{_short(envs or [])}"
    if policy and size:
        raise InputError("it is for a new model", where="--size", fix="Leave out --size or --policy.")
    start = Path(f"{folder if folder.name.strip('.') else folder.resolve()}-start")
    settings = typed.make(SFTSettings, envs=tuple(envs or ()), policy=policy or str(start))
    check(settings, folder, resume)
    if policy is None:
        _start(start, envs or [], size or "small", settings.seed, settings.expert, output)
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
    return 0


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
