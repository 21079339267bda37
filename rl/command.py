"""Train policies in the environments. Needs the extra trl (sft) or rl (grpo)."""

from __future__ import annotations

from typing import Annotated

import typer

from simia_gym.assembly.settings import EnvConfig
from simia_gym.assembly.sources import ModelSources
from simia_gym.cli.options import AsJson, Environment, Typed, with_options
from simia_gym.rl.grpo.config.settings import GrpoSettings, LaunchSettings
from simia_gym.rl.sft.command import sft

train = typer.Typer(
    name="train",
    help="Train policies in the environments.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
_NO_OPTIONS = ("without_dev", "shadow", "replay_from", "record_cassette", "replay_cassette")
_THE_PROFILES = dict.fromkeys(("engine", "learning_rate", "dynamic_sampling", "prompt"))


@train.command()
@with_options(GrpoSettings, LaunchSettings, EnvConfig, ModelSources, omit=_NO_OPTIONS, defaults=_THE_PROFILES)
def grpo(
    typed: Typed,
    env: Environment,
    more: Annotated[
        list[str] | None,
        typer.Option("--env", metavar="ENV[=WEIGHT]", help="A further environment and its weight. May be repeated."),
    ] = None,
    json: AsJson = False,
) -> int:
    """Train a policy by GRPO, with verl and Ray."""
    from simia_gym.rl.extras import hide_progress_bars
    from simia_gym.rl.grpo.config.options import GrpoOptions
    from simia_gym.rl.grpo.launch import run_grpo

    hide_progress_bars()
    asked = GrpoOptions(
        env=(env, *(more or ())),
        training=typed.values(GrpoSettings),
        world=typed.values(EnvConfig),
        models=typed.make(ModelSources),
        launch=typed.make(LaunchSettings),
        json=json,
    )
    return run_grpo(asked)


@train.command("setup-vllm")
def setup_vllm(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print what would be done; change nothing.")] = False,
) -> None:
    """Install vLLM's CPU build in this environment."""
    from simia_gym.rl.grpo.setup_vllm import set_up

    raise typer.Exit(set_up(dry_run=dry_run))


train.command("sft")(sft)
