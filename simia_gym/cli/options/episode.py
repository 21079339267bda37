"""The options that commands share which play episodes: who plays what, how, and on which processes."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Optional

import typer

from simia_gym.cli.options.option_types import (
    MODELS,
    BaseUrl,
    EscalationBaseUrl,
    JudgeBaseUrl,
    JudgeModel,
    MaxCalls,
    MaxCost,
    MaxTokens,
    ModelName,
    Pins,
    Role,
    Route,
    Strategy,
    UserBaseUrl,
    UserModel,
    Votes,
)

MOST = 10**12
MOST_AT_ONCE = 10_000
CLUSTER = "Cluster"


class SplitName(StrEnum):
    """Choices of --split."""

    train = "train"
    test = "test"
    all = "all"


class PromptName(StrEnum):
    """Choices of --prompt."""

    full = "full"
    compact = "compact"


AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON value as the last line of standard output.")]
DataDir = Annotated[Optional[str], typer.Option("--data", metavar="DIR", help="Your own data for the domain.")]  # noqa: UP045


def with_options(shared: Callable[..., dict[str, Any]]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command options that it shares with others.

    Args:
        shared: A function whose parameters are the options; what it makes of them is the command's first argument.

    Returns:
        A decorator for the command; its own options come first.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        first, *own = inspect.signature(command, eval_str=True).parameters.values()
        more = list(inspect.signature(shared, eval_str=True).parameters.values())

        def run(**given: Any) -> None:
            taken = {one.name: given.pop(one.name) for one in more}
            command(**{first.name: shared(**taken)}, **given)

        run.__name__, run.__doc__ = command.__name__, command.__doc__
        listed = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in (*own, *more)]
        run.__signature__ = inspect.Signature(listed)  # type: ignore[attr-defined]
        run.__annotations__ = {one.name: one.annotation for one in listed}
        return run

    return decorate


def episode_options(
    policy: Annotated[
        str, typer.Option(metavar="P", help="expert, random, null, claimer, refuser, llm, hf, or module:Class.")
    ] = "expert",
    policy_model: Annotated[Optional[str], typer.Option(metavar="NAME", help="Model of --policy llm or hf.")] = None,  # noqa: UP045
    policy_base_url: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(metavar="URL", help="OpenAI-compatible endpoint of --policy llm."),
    ] = None,
    generated: Annotated[
        int, typer.Option(metavar="N", min=0, max=MOST, help="Generated tasks besides the fixed ones.")
    ] = 0,
    seed: Annotated[int, typer.Option(metavar="S", min=0, help="Where all variety comes from.")] = 0,
    concurrency: Annotated[
        int, typer.Option(metavar="C", min=1, max=MOST_AT_ONCE, help="Most episodes in flight.")
    ] = 8,
    simulator: Annotated[
        str, typer.Option(metavar="KIND", help="Who answers tool calls: auto, world, llm, hybrid, replay.")
    ] = "auto",
    model: ModelName = None,
    base_url: BaseUrl = None,
    escalation_base_url: EscalationBaseUrl = None,
    user: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(metavar="KIND", help="Who plays the user: scripted, brief, llm. [default: the domain's]"),
    ] = None,
    user_model: UserModel = None,
    user_base_url: UserBaseUrl = None,
    judge: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(metavar="KIND", help="Who judges what no program can: llm; llm-all judges everything."),
    ] = None,
    votes: Votes = 1,
    judge_model: JudgeModel = None,
    judge_base_url: JudgeBaseUrl = None,
    strategy: Strategy = "auto",
    route: Route = None,
    role: Role = None,
    pins: Pins = True,
    shadow: Annotated[
        bool,
        typer.Option(
            "--shadow", help="Count how the world would have answered otherwise than the model.", rich_help_panel=MODELS
        ),
    ] = False,
    replay_from: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(metavar="FILE", help="The record that --simulator replay answers from."),
    ] = None,
    record_cassette: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(metavar="FILE", help="Write every model's answers there.", rich_help_panel=MODELS),
    ] = None,
    replay_cassette: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(metavar="FILE", help="Take every model's answers from there.", rich_help_panel=MODELS),
    ] = None,
    max_cost: MaxCost = None,
    max_calls: MaxCalls = None,
    max_tokens: MaxTokens = None,
    feedback: Annotated[
        str, typer.Option(metavar="KIND", help="What errors say: terse, or explain: also why and what would do.")
    ] = "terse",
    domain: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(metavar="DIR", help="Folder of the domain of simia/custom-v0."),
    ] = None,
    option: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Option(metavar="KEY=VALUE", help="Option of the domain; may be repeated."),
    ] = None,
    prompt: Annotated[PromptName, typer.Option(help="How much the system message says.")] = PromptName.full,
    max_turns: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option(metavar="N", min=1, max=MOST, help="Turn limit. [default: the domain's]"),
    ] = None,
    timeout: Annotated[
        Optional[float],  # noqa: UP045
        typer.Option(metavar="S", help="Seconds that one episode may take."),
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue the record where it stopped.")] = False,
    ray: Annotated[
        bool, typer.Option("--ray", help="Spread the episodes over the processes of Ray.", rich_help_panel=CLUSTER)
    ] = False,
    ray_address: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(
            metavar="A",
            help="Of a running cluster: auto, or HOST:PORT. [default: RAY_ADDRESS, else one of this machine alone]",
            rich_help_panel=CLUSTER,
        ),
    ] = None,
    ray_workers: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option(
            metavar="N",
            min=1,
            max=MOST_AT_ONCE,
            help="Worker processes. [default: one per core]",
            rich_help_panel=CLUSTER,
        ),
    ] = None,
    data: DataDir = None,
    json: AsJson = False,
) -> dict[str, Any]:
    """The fields of `simia_gym.cli.rollout.RolloutOptions` that these options fill."""
    typed = locals()
    from simia_gym.cli.options.models import ModelOptions

    return {
        "policy": policy,
        "policy_model": policy_model,
        "policy_base_url": policy_base_url,
        "generated": generated,
        "seed": seed,
        "concurrency": concurrency,
        "simulator": simulator,
        "models": ModelOptions.typed(typed),
        "user": user,
        "data": data,
        "domain": domain,
        "option": tuple(option or ()),
        "prompt": prompt.value,
        "max_turns": max_turns,
        "timeout": timeout,
        "resume": resume,
        "json": json,
        "ray": ray,
        "ray_address": ray_address,
        "ray_workers": ray_workers,
    }
