"""``simia new-policy``: a policy that knows nothing yet."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def new_policy(
    out: Annotated[Path, typer.Argument(help="Folder to write the policy to, in the layout of Hugging Face.")],
    env: Annotated[
        list[str],
        typer.Option("--env", help="Environment, or folder of a domain, whose text the tokenizer learns; repeatable."),
    ],
    size: Annotated[str, typer.Option(help="Shape of the model: tiny, small, base or large.")] = "small",
    vocab: Annotated[int, typer.Option(help="Most tokens of the tokenizer.")] = 6144,
    layers: Annotated[int | None, typer.Option(help="Another number of layers.")] = None,
    hidden: Annotated[int | None, typer.Option(help="Another width of the model.")] = None,
    heads: Annotated[int | None, typer.Option(help="Another number of attention heads.")] = None,
    copying: Annotated[
        bool, typer.Option("--copying", help="Begin with heads that can copy, so that ids need not be remembered.")
    ] = False,
    expert: Annotated[
        str, typer.Option(help="Which of the environments' own policies holds the conversations of the tokenizer.")
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
