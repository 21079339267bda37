"""``simia new-policy``: creates an untrained policy."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def new_policy(
    out: Annotated[Path, typer.Argument(help="Folder to write the policy to, in the Hugging Face format.")],
    env: Annotated[
        list[str],
        typer.Option("--env", help="Environment, or folder of a domain, whose text the tokenizer learns; repeatable."),
    ],
    size: Annotated[str, typer.Option(help="Shape of the model: tiny, small, base or large.")] = "small",
    vocab: Annotated[int, typer.Option(help="Maximum size of the vocabulary.")] = 6144,
    layers: Annotated[int | None, typer.Option(help="Number of layers instead of that of --size.")] = None,
    hidden: Annotated[int | None, typer.Option(help="Width of the model instead of that of --size.")] = None,
    heads: Annotated[int | None, typer.Option(help="Number of attention heads instead of that of --size.")] = None,
    copying: Annotated[
        bool, typer.Option("--copying", help="Initialise attention heads that copy, so that ids need not be memorised.")
    ] = False,
    expert: Annotated[
        str, typer.Option(help="Name of the environments' policy that plays the tokenizer's conversations.")
    ] = "expert",
    seed: Annotated[int, typer.Option(help="Seed of the random weights.")] = 0,
) -> None:
    """Make a small Qwen3 with random weights and a tokenizer of the domain's text. Needs the extra trl."""
    from simia_gym.common.output import Output
    from simia_gym.rl.small.build import build_policy

    output = Output(json=False)
    build_policy(
        out,
        env,
        size=size,
        vocab=vocab,
        layers=layers,
        hidden=hidden,
        heads=heads,
        copying=copying,
        expert=expert,
        seed=seed,
        say=output.say,
    )
