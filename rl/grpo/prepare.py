"""Everything a training needs before verl starts: environments, models that answer, a policy, data."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simia_gym.assembly.resources import Resources
from simia_gym.assembly.settings import EnvConfig
from simia_gym.assembly.suite import Suite, load_suite
from simia_gym.common.output import Output
from simia_gym.errors import InputError
from simia_gym.rl.extras import require
from simia_gym.rl.grpo.episodes import TRAIN, VAL, Purpose
from simia_gym.rl.grpo.memory import shape_of
from simia_gym.rl.grpo.options import GrpoOptions, RunPlan
from simia_gym.rl.grpo.run_folder import RunFolder, write_whole
from simia_gym.rl.grpo.worlds import RunSettings, agent_loop_config
from simia_gym.rl.labels import labels
from simia_gym.rl.small.card import read_card
from simia_gym.rl.small.heads import plain_head
from simia_gym.rollout.foreign import foreign_code
from simia_gym.rollout.preflight import check_prices, look_at_models, warnings

MOST_ROWS = 4096
"""Rows of training data; a longer training goes through them again, and plays each task with other seeds."""
VLLM_CPU = "vllm_cpu"
CPU_HEADS = (32, 64, 80, 96, 112, 128, 160, 192, 224, 256, 512)
"""Widths of attention heads that vLLM has code for on processors."""
Weighted = Sequence[tuple[Suite, float]]


@dataclass(frozen=True)
class Worlds:
    """The environments of a training.

    Attributes:
        train: Training environments and their weights.
        validation: The same with validation tasks; empty where none are looked at.
    """

    train: Weighted
    validation: Weighted


def names_of(worlds: Weighted) -> list[str]:
    """What environments are called in a run that trains on all of them."""
    return labels([suite.config for suite, _ in worlds])


def load_worlds(asked: GrpoOptions, plan: RunPlan) -> Worlds:
    """Load the environments.

    Raises:
        InputError: A setting does not fit; it is named as it was typed.
    """
    resources = asked.models.resources()
    train = [(_loaded(config, resources), weight) for config, weight in plan.environments]
    if not any(suite.model_names for suite, _ in train) and resources.simulator is None:
        for config, _ in plan.environments:
            asked.models.check_used(config)
    validation = plan.validation if plan.validation_every else ()
    return Worlds(train, [(_loaded(config, resources), weight) for config, weight in validation])


def _loaded(config: EnvConfig, resources: Resources) -> Suite:
    with foreign_code(config.domain or config.env):
        return load_suite(config, resources)


def look_at_worlds(output: Output, asked: GrpoOptions, worlds: Worlds) -> None:
    """Ask every model of the run one short question, and say what will not be as one might expect.

    Raises:
        InputError: An endpoint is not there, refuses the key or does not know the model.
    """
    for env, (suite, _) in zip(names_of(worlds.train), worlds.train, strict=True):
        for warning in warnings(suite):
            output.say(f"warning: {env}: {warning}")
        if asked.models.max_cost is not None and suite.model_names:
            check_prices(suite.models.places(suite.model_names))
        if not asked.models.replaying:
            for worry in look_at_models(suite):
                output.say(f"{worry} Going on all the same.")


def make_policy(output: Output, plan: RunPlan, folder: Path) -> str:
    """The policy that the training starts from; a tiny one is made where none was given.

    Args:
        output: Says that it takes a moment.
        plan: The run.
        folder: Where one that is made goes.

    Returns:
        Its folder, absolute, or its name at a hub.

    Raises:
        InputError: It does not fit the run.
    """
    if plan.policy is None:
        if not plan.profile.on_cpu:
            fix = "Give --policy FOLDER or a name at the Hugging Face hub."
            raise InputError(f"the profile {plan.profile.name} trains no policy of its own", where="--policy", fix=fix)
        if read_card(folder) is None:  # it is written last
            from simia_gym.rl.small.build import build_policy

            shutil.rmtree(folder, ignore_errors=True)
            _no_bars()

            output.say(f"no --policy given: making a tiny one with random weights in {folder}")
            names = [str(config.domain or config.env) for config, _ in plan.environments]
            build_policy(folder, names, hidden=64, heads=2, seed=plan.seed)  # heads as wide as vLLM needs them
        return str(folder)
    path = Path(plan.policy)
    if not path.is_dir():
        if path.is_absolute() or plan.policy.startswith((".", "~")) or plan.policy.count("/") > 1:
            raise InputError(f"there is no folder {plan.policy}", where="--policy", fix="Check the path.")
        return plan.policy
    check_policy(path, plan)
    return str(path.resolve())


def check_policy(path: Path, plan: RunPlan) -> None:
    """Hold a policy's folder against the run.

    Raises:
        InputError: It is no model's folder, or its context is too short.
    """
    try:
        config = json.loads((path / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        fix = "Give a folder in the format of Hugging Face."
        raise InputError(f"{path} holds no config.json of a model", where="--policy", fix=fix) from None
    shape = shape_of(str(path))
    if plan.engine_name == VLLM_CPU and shape is not None and shape.head not in CPU_HEADS:
        what = f"{path} has attention heads of width {shape.head}, for which vLLM has no code on processors"
        fix = f"Use --engine hf, or a policy with heads of {', '.join(map(str, CPU_HEADS))}."
        raise InputError(what, where="--engine vllm", fix=fix)
    room = config.get("max_position_embeddings")
    wanted = plan.max_prompt_length + plan.max_response_length
    if isinstance(room, int) and room < wanted:
        what = f"{path} reads {room:,} tokens at most, and prompt and response may have {wanted:,}"
        raise InputError(what, where="--policy", fix="Lower --max-prompt-length or --max-response-length.")


def load_tokenizer(policy: str) -> Any:
    """The policy's tokenizer.

    Raises:
        InputError: There is none, or it has no chat template.
    """
    require("rl", "transformers")
    _no_bars()
    from transformers import AutoTokenizer

    try:
        tokenizer = AutoTokenizer.from_pretrained(policy)
    except Exception as error:
        reason = str(error).strip().splitlines()
        what = f"the tokenizer of {policy} cannot be loaded: {reason[0] if reason else type(error).__name__}"
        fix = "Give a folder in the format of Hugging Face, or check that the hub can be reached."
        raise InputError(what, where="--policy", fix=fix) from None
    if not getattr(tokenizer, "chat_template", None):
        fix = "Give an instruction-tuned model, or set tokenizer.chat_template and save it."
        raise InputError(f"the tokenizer of {policy} has no chat template", where="--policy", fix=fix)
    return tokenizer


def _no_bars() -> None:
    """Keep the bars and warnings of transformers off the terminal, where our own progress is shown."""
    from transformers.utils import logging

    logging.set_verbosity_error()
    logging.disable_progress_bar()


def training_rows(plan: RunPlan) -> int:
    """How many rows of training data a run is to have; with dynamic sampling nobody knows how many it needs."""
    most = max(MOST_ROWS, plan.groups)
    return most if plan.dynamic_sampling else min(plan.steps * plan.groups, most)


def write_data(folder: RunFolder, plan: RunPlan, worlds: Worlds, policy: str) -> int:
    """Write the rows that verl reads, where a former start has not.

    A run that goes on for longer than it was begun for gets more rows, of which the first are those that it had; one
    that begins to look at validation tasks gets those.

    Args:
        folder: The folder of the run.
        plan: The run.
        worlds: Its environments.
        policy: Whose tokenizer measures the prompts.

    Returns:
        How many rows there are to train on.

    Raises:
        InputError: A prompt is longer than the run allows.
    """
    from simia_gym.rl.grpo.dataset import write_dataset

    known = json.loads(folder.data.read_text(encoding="utf-8")) if folder.data.is_file() else {}
    wanted: dict[Purpose, tuple[Weighted, int]] = {}
    if known.get(TRAIN, {}).get("rows", 0) < training_rows(plan):
        wanted[TRAIN] = worlds.train, training_rows(plan)
    if VAL not in known:  # verl reads validation rows whether they are used or not: where they are not, one stands in
        wanted[VAL] = (worlds.validation, plan.validation_tasks) if worlds.validation else (worlds.train, 1)
    tokenizer = load_tokenizer(policy) if wanted else None
    for purpose, (sources, rows) in wanted.items():
        facts = write_dataset(
            folder.path / f"{purpose}.parquet",
            sources,
            tokenizer,
            purpose=purpose,
            max_prompt_length=plan.max_prompt_length,
            seed=plan.seed,
            rows=rows,
        )
        if purpose == TRAIN or worlds.validation:
            known[purpose] = {"rows": facts.rows, "by_env": dict(facts.by_env), "longest_prompt": facts.longest}
    write_whole(folder.data, json.dumps(known, indent=1) + "\n")
    return int(known[TRAIN]["rows"])


def has_plain_head(policy: str) -> bool:
    """Whether a policy's logits are hidden states times output embeddings, as far as its configuration is at hand.

    Args:
        policy: Its folder, or its name at a hub.
    """
    from transformers import AutoConfig

    try:
        return plain_head(AutoConfig.from_pretrained(policy))
    except (OSError, ValueError):
        return True


def write_agent_loops(folder: RunFolder, asked: GrpoOptions, plan: RunPlan, workers: int) -> None:
    """Write what the processes need that play episodes; no address and no key is in it."""
    import yaml

    models = asked.models
    settings = RunSettings(
        run=str(folder.path),
        seed=plan.seed,
        workers=workers,
        max_calls=models.max_calls,
        max_tokens=models.max_tokens,
        max_cost=models.max_cost,
        turn_tokens=plan.turn_tokens,
        timeout=asked.launch.timeout,
        records=asked.launch.save_records,
    )
    text = yaml.safe_dump(agent_loop_config(settings), sort_keys=False, allow_unicode=True)
    write_whole(folder.path / "agent_loops.yaml", text)


def addresses(asked: GrpoOptions, plan: RunPlan) -> dict[str, str]:
    """Variables that tell the processes of a training where the models are, as typed.

    Addresses may hold credentials, so they are written nowhere.

    Raises:
        InputError: The processes are on other machines, which inherit no variable from here.
    """
    models = asked.models
    typed = {
        "SIMIA_SIMULATOR_BASE_URL": models.base_url,
        "SIMIA_USER_BASE_URL": models.user_base_url or models.base_url,
        "SIMIA_JUDGE_BASE_URL": models.judge_base_url or models.base_url,
    }
    if "escalation" in models.role:
        typed["SIMIA_ESCALATION_BASE_URL"] = models.escalation_base_url or models.base_url
    found = {name: url for name, url in typed.items() if url is not None}
    if found and not plan.profile.own_ray:
        what = "the processes of a cluster take addresses from the variables of their own machines"
        fix = f"Export {' and '.join(found)} on every machine before `ray start`, and here."
        raise InputError(what, where="--base-url", fix=fix)
    return found
