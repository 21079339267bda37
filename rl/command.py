"""`simia train`: the options of its commands. What they do is imported when they run, so that ``--help`` is quick."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from simia_gym.cli.options.option_types import (
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
from simia_gym.rl.sft.command import sft

SIZES, RUN, WORLD = "Sizes", "Run", "World"

train = typer.Typer(
    name="train",
    help="Train policies in the environments.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@train.command()
def grpo(
    env: Annotated[str, typer.Argument(metavar="ENV", help="An id from `simia list`, or the folder of a domain.")],
    more: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Option("--env", metavar="ENV[=WEIGHT]", help="A further environment and its weight; may be repeated."),
    ] = None,
    profile: Annotated[
        str, typer.Option(metavar="NAME", help="What to train on: cpu, gpu_1x8, multi_node, or a YAML file.")
    ] = "cpu",
    policy: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(metavar="MODEL", help="Folder or hub name of the policy. [default on cpu: a tiny new one]"),
    ] = None,
    engine: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(metavar="KIND", help="What generates: hf, vllm. [default: the profile's]"),
    ] = None,
    steps: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option(metavar="N", min=1, help="Updates of the policy.", rich_help_panel=SIZES),
    ] = None,
    groups: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option(metavar="N", min=1, help="Tasks of one step.", rich_help_panel=SIZES),
    ] = None,
    group_size: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option(metavar="N", min=2, help="Episodes of one task.", rich_help_panel=SIZES),
    ] = None,
    lr: Annotated[
        Optional[float],  # noqa: UP045
        typer.Option(metavar="X", help="Learning rate.", rich_help_panel=SIZES),
    ] = None,
    max_prompt_length: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option(
            metavar="N", min=1, help="Tokens of the longest prompt; no longer one is cut.", rich_help_panel=SIZES
        ),
    ] = None,
    max_response_length: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option(metavar="N", min=1, help="Tokens of an episode after its prompt.", rich_help_panel=SIZES),
    ] = None,
    turn_tokens: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option(metavar="N", min=1, help="Tokens of one turn of the policy.", rich_help_panel=SIZES),
    ] = None,
    temperature: Annotated[
        Optional[float],  # noqa: UP045
        typer.Option(metavar="X", help="At which the policy is sampled. [default: the profile's]", rich_help_panel=RUN),
    ] = None,
    dynamic_sampling: Annotated[
        Optional[bool],  # noqa: UP045
        typer.Option(
            help="Replace groups whose episodes all have the same reward: they teach nothing. [default: the profile's]",
            rich_help_panel=RUN,
        ),
    ] = None,
    val_every: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option(metavar="N", min=0, help="Steps between two validations; 0 for none.", rich_help_panel=SIZES),
    ] = None,
    val_tasks: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option(metavar="N", min=1, help="Most tasks of a validation.", rich_help_panel=SIZES),
    ] = None,
    save_every: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option(metavar="N", min=1, help="Steps between two checkpoints.", rich_help_panel=RUN),
    ] = None,
    keep: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option(metavar="N", min=1, help="Checkpoints that are kept.", rich_help_panel=RUN),
    ] = None,
    prompt: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(
            metavar="KIND", help="System message: full, compact. [default: the profile's]", rich_help_panel=WORLD
        ),
    ] = None,
    split: Annotated[
        str, typer.Option(metavar="NAME", help="Fixed tasks to train on: train, test, all.", rich_help_panel=WORLD)
    ] = "train",
    generated: Annotated[
        int, typer.Option(metavar="N", min=0, help="Generated tasks besides them.", rich_help_panel=WORLD)
    ] = 0,
    val_split: Annotated[
        str, typer.Option(metavar="NAME", help="Fixed tasks of the validation.", rich_help_panel=WORLD)
    ] = "test",
    val_generated: Annotated[
        int, typer.Option(metavar="N", min=0, help="Generated tasks besides them.", rich_help_panel=WORLD)
    ] = 0,
    max_turns: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option(metavar="N", min=1, help="Turn limit. [default: the domain's]", rich_help_panel=WORLD),
    ] = None,
    domain: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(metavar="DIR", help="Folder of the domain of simia/custom-v0.", rich_help_panel=WORLD),
    ] = None,
    data: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(metavar="DIR", help="Your own data for the domain.", rich_help_panel=WORLD),
    ] = None,
    option: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Option(metavar="KEY=VALUE", help="Option of the domain; may be repeated.", rich_help_panel=WORLD),
    ] = None,
    simulator: Annotated[
        str,
        typer.Option(metavar="KIND", help="Who answers tool calls: auto, world, llm, hybrid.", rich_help_panel=WORLD),
    ] = "auto",
    user: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(metavar="KIND", help="Who plays the user: scripted, brief, llm.", rich_help_panel=WORLD),
    ] = None,
    judge: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(metavar="KIND", help="Who judges what no program can: llm, llm-all.", rich_help_panel=WORLD),
    ] = None,
    model: ModelName = None,
    base_url: BaseUrl = None,
    escalation_base_url: EscalationBaseUrl = None,
    user_model: UserModel = None,
    user_base_url: UserBaseUrl = None,
    judge_model: JudgeModel = None,
    judge_base_url: JudgeBaseUrl = None,
    votes: Votes = 1,
    strategy: Strategy = "auto",
    route: Route = None,
    role: Role = None,
    pins: Pins = True,
    max_cost: MaxCost = None,
    max_calls: MaxCalls = None,
    max_tokens: MaxTokens = None,
    feedback: Annotated[
        str, typer.Option(metavar="KIND", help="What errors say: terse, explain.", rich_help_panel=WORLD)
    ] = "terse",
    timeout: Annotated[
        Optional[float],  # noqa: UP045
        typer.Option(metavar="S", help="Seconds that one episode may take.", rich_help_panel=WORLD),
    ] = None,
    seed: Annotated[
        int, typer.Option(metavar="S", min=0, help="Where all variety comes from.", rich_help_panel=RUN)
    ] = 0,
    out: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(metavar="DIR", help="Folder of the run. [default: runs/ENV-PROFILE]", rich_help_panel=RUN),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on after the last whole checkpoint.", rich_help_panel=RUN)
    ] = False,
    records: Annotated[
        bool, typer.Option("--save-records", help="Keep the whole record of every episode.", rich_help_panel=RUN)
    ] = False,
    logger: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Option(metavar="NAME", help="Besides metrics.jsonl: tensorboard, wandb.", rich_help_panel=RUN),
    ] = None,
    set_: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Option("--set", metavar="KEY=VALUE", help="Any key of verl's configuration.", rich_help_panel=RUN),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print configuration, memory, tokens and calls; start nothing.")
    ] = False,
    gpu_memory: Annotated[
        float, typer.Option(metavar="GIB", min=1, help="Memory of a graphics card, for --dry-run.")
    ] = 80.0,
    json: Annotated[
        bool, typer.Option("--json", help="Print one JSON value as the last line of standard output.")
    ] = False,
) -> None:
    """Train a policy by GRPO, with verl and Ray."""
    typed = locals()
    from simia_gym.cli.options.models import ModelOptions
    from simia_gym.rl.grpo.launch import run_grpo
    from simia_gym.rl.grpo.options import GrpoOptions

    asked = GrpoOptions(
        env=(env, *(more or ())),
        profile=profile,
        policy=policy,
        engine=engine,
        steps=steps,
        groups=groups,
        group_size=group_size,
        learning_rate=lr,
        max_prompt_length=max_prompt_length,
        max_response_length=max_response_length,
        turn_tokens=turn_tokens,
        temperature=temperature,
        dynamic_sampling=dynamic_sampling,
        prompt=prompt,
        split=split,
        generated=generated,
        validation_every=val_every,
        validation_tasks=val_tasks,
        validation_split=val_split,
        validation_generated=val_generated,
        save_every=save_every,
        keep=keep,
        simulator=simulator,
        user=user,
        max_turns=max_turns,
        domain=domain,
        data=data,
        option=tuple(option or ()),
        models=ModelOptions.typed(typed),
        episode_timeout=timeout,
        records=records,
        seed=seed,
        out=out,
        resume=resume,
        logger=tuple(logger or ()),
        overrides=tuple(set_ or ()),
        gpu_memory=gpu_memory,
        dry_run=dry_run,
        json=json,
    )
    raise typer.Exit(run_grpo(asked))


@train.command("setup-vllm")
def setup_vllm(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be done; change nothing.")] = False,
) -> None:
    """Add the build of vLLM for processors to this environment."""
    from simia_gym.rl.grpo.setup_vllm import set_up

    raise typer.Exit(set_up(dry_run=dry_run))


train.command("sft")(sft)
