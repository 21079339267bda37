"""``simia train sft``: trains a policy on trajectories."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Optional

import typer

from simia_gym.cli.options import AsJson, Typed, with_options
from simia_gym.common.formatting import slug
from simia_gym.errors import InputError
from simia_gym.rl.sft.settings import SFTSettings

_EVERY = 10.0
"""Seconds between two progress lines."""


@with_options(SFTSettings)
def sft(
    typed: Typed,
    envs: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Argument(metavar="ENV...", help="Ids of environments, or folders of domains, whose experts to imitate."),
    ] = None,
    policy: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(
            metavar="MODEL", help="Model to start from, in the Hugging Face format. Else a small one is created."
        ),
    ] = None,
    out: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(metavar="DIR", help="Folder of the run. Default: runs/sft-ENV."),
    ] = None,
    size: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(metavar="NAME", help="Shape of the new model if there is no --policy. Default: small."),
    ] = None,
    save_data: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(metavar="FILE", help="Also write the trajectories to a file (.jsonl or .parquet)."),
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Resume from the last checkpoint in --out.")] = False,
    json: AsJson = False,
) -> int:
    """Train a policy on trajectories of experts, rollouts or data sets; the loss covers only the policy's turns."""
    from simia_gym.common.output import Output
    from simia_gym.rl.extras import require
    from simia_gym.rl.sft.run import check, train_sft

    require("trl", "torch", "transformers", "trl", "datasets")
    output = Output(json)
    folder = out or Path("runs") / f"sft-{_short(envs or [])}"
    if policy and size:
        raise InputError("only a new model has a size", where="--size", fix="Leave out --size or --policy.")
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
    """Prints the training loss now and then, and the result of each evaluation on held-out trajectories."""

    def __init__(self, output: Any) -> None:
        self._output = output
        self._began = self._reported = time.monotonic()
        self._first: int | None = None

    def __call__(self, step: int, steps: int, numbers: Mapping[str, float]) -> None:
        now = time.monotonic()
        if self._first is None:
            self._first = step
        evaluated = "eval_loss" in numbers
        if not evaluated and ("loss" not in numbers or (now - self._reported < _EVERY and step < steps)):
            return
        self._reported = now
        begin = "eval_" if evaluated else ""
        loss, accuracy = numbers[f"{begin}loss"], numbers.get(f"{begin}mean_token_accuracy")
        name = "held out" if evaluated else "learned from"
        left = (now - self._began) / max(1, step - self._first) * (steps - step)
        self._output.say(
            f"step {step}/{steps}  {name}: loss {loss:.3f}"
            + ("" if accuracy is None else f", accuracy {accuracy:.1%}")
            + (f"  ({left:.0f} s to go)" if step > self._first else "")
        )


class _Played:
    """Prints the number of expert episodes now and then."""

    def __init__(self, output: Any) -> None:
        self._output, self._number, self._reported = output, 0, time.monotonic()

    def __call__(self) -> None:
        self._number += 1
        if time.monotonic() - self._reported >= _EVERY:
            self._reported = time.monotonic()
            self._output.say(f"{self._number} episodes played by experts")


def _start(folder: Path, envs: list[str], size: str, seed: int, expert: str, output: Any) -> None:
    """Create the initial policy; if the folder contains one, check that it was created with the same settings."""
    from simia_gym.rl.small.build import build_policy
    from simia_gym.rl.small.card import read_card

    if not envs:
        fix = "Give --policy, or name environments, on whose text a new policy's tokenizer is trained."
        raise InputError("there is no policy to start from", where="--policy", fix=fix)
    if not (folder / "config.json").exists():
        build_policy(folder, envs, size=size, seed=seed, expert=expert, say=output.say)
        return
    card = read_card(folder)
    before = {} if card is None else {"envs": list(card.envs), "copying": False, "expert": "expert", **card.made}
    asked = {"envs": list(dict.fromkeys(envs)), "size": size, "seed": seed, "copying": False, "expert": expert}
    other = [f"{name}={before.get(name)!r}" for name, value in asked.items() if before.get(name) != value]
    if other:
        fix = "Delete it, give another --out, or start from it with --policy."
        raise InputError(f"the existing policy was made with {', '.join(other)}", where=str(folder), fix=fix)
    output.say(f"starting from the existing new policy {folder}")


def _short(envs: list[str]) -> str:
    return "-".join(slug(env.removeprefix("simia/").rpartition("-v")[0] or env) for env in envs) or "data"
