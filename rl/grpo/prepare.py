"""Prepares a training before verl starts: loads environments, checks model endpoints, creates policy and dataset."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from simia_gym.assembly.suite import load_suite
from simia_gym.common.output import Output
from simia_gym.common.writing import write_whole
from simia_gym.errors import InputError
from simia_gym.rl.extras import first_line, require
from simia_gym.rl.grpo.config.options import GrpoOptions, RunPlan
from simia_gym.rl.grpo.config.sizes import head_width
from simia_gym.rl.grpo.dataset import DatasetFacts, Weighted, write_dataset
from simia_gym.rl.grpo.in_verl.worlds import RunSettings, agent_loop_config
from simia_gym.rl.grpo.run.episodes import TRAIN, VAL, Purpose
from simia_gym.rl.grpo.run.run_folder import RunFolder
from simia_gym.rl.labels import labels
from simia_gym.rl.small.card import read_card
from simia_gym.rollout.preflight import check_prices, look_at_models, warnings

REPLACED = 4
"""Rows for each group of a step with dynamic sampling: the group itself, and those that it replaces."""
VLLM_CPU = "vllm_cpu"
CPU_HEADS = (32, 64, 80, 96, 112, 128, 160, 192, 224, 256, 512)
"""Widths of attention heads that vLLM's CPU backend supports."""


def names_of(worlds: Weighted) -> list[str]:
    """The environments' names in the run."""
    return labels([suite.config for suite, _ in worlds])


def load_worlds(asked: GrpoOptions, plan: RunPlan) -> tuple[Weighted, Weighted]:
    """Load the environments of the training, and those of its validation, if there is any.

    Raises:
        InputError: A setting is wrong; names the option.
    """
    resources = asked.models.resources()
    train = [(load_suite(config, resources), weight) for config, weight in plan.environments]
    if not any(suite.model_names for suite, _ in train) and resources.simulator is None:
        for config, _ in plan.environments:
            asked.models.check_used(config)
    validation = plan.validation if plan.validation_every else ()
    return train, [(load_suite(config, resources), weight) for config, weight in validation]


def look_at_worlds(output: Output, asked: GrpoOptions, worlds: Weighted) -> None:
    """Send one short request to each model of the run, and print warnings about the environments.

    Raises:
        InputError: An endpoint is unreachable, refuses the API key or does not have the model.
    """
    for env, (suite, _) in zip(names_of(worlds), worlds, strict=True):
        for warning in warnings(suite):
            output.say(f"warning: {env}: {warning}")
        if asked.models.max_cost is not None and suite.model_names:
            check_prices(suite.models.places(suite.model_names))
        if not asked.models.replaying:
            for worry in look_at_models(suite):
                output.say(f"{worry} Going on all the same.")


def make_policy(output: Output, plan: RunPlan, folder: Path) -> str:
    """The policy to start from, an absolute folder or a name on the hub; if none is given, a tiny new one.

    Raises:
        InputError: The policy does not fit the run.
    """
    if plan.policy is None:
        if not plan.profile.on_cpu:
            fix = "Give --policy with a folder or a name on the Hugging Face hub."
            raise InputError(f"the profile {plan.profile.name} creates no policy", where="--policy", fix=fix)
        if read_card(folder) is None:  # the card is written last
            from simia_gym.rl.small.build import build_policy

            shutil.rmtree(folder, ignore_errors=True)
            output.say(f"no --policy given: making a tiny one with random weights in {folder}")
            names = [str(config.domain or config.env) for config, _ in plan.environments]
            build_policy(folder, names, hidden=64, heads=2, seed=plan.seed)  # a head width that vLLM supports
        return str(folder)
    path = Path(plan.policy)
    if not path.is_dir():
        if path.is_absolute() or plan.policy.startswith((".", "~")) or plan.policy.count("/") > 1:
            raise InputError(f"there is no folder {plan.policy}", where="--policy", fix="Check the path.")
        return plan.policy
    check_policy(path, plan)
    return str(path.resolve())


def check_policy(path: Path, plan: RunPlan) -> None:
    """Check a policy's folder against the settings of the run.

    Raises:
        InputError: The folder contains no model, its context is too short, or vLLM does not support its heads.
    """
    if not (path / "config.json").is_file():
        fix = "Give a folder in the format of Hugging Face."
        raise InputError(f"{path} holds no config.json of a model", where="--policy", fix=fix)
    model = read_config(str(path))
    if model is None:  # transformers does not know it; verl may, with code of its own
        return
    text = model.get_text_config()
    if plan.engine_name == VLLM_CPU and head_width(text) not in CPU_HEADS:
        what = f"{path} has attention heads of width {head_width(text)}, which vLLM does not support on CPU"
        fix = f"Use --engine hf, or a policy with heads of {', '.join(map(str, CPU_HEADS))}."
        raise InputError(what, where="--engine vllm", fix=fix)
    room = getattr(text, "max_position_embeddings", None)
    wanted = plan.max_prompt_length + plan.max_response_length
    if isinstance(room, int) and room < wanted:
        what = f"{path} reads {room:,} tokens at most, and prompt and response may have {wanted:,}"
        raise InputError(what, where="--policy", fix="Lower --max-prompt-length or --max-response-length.")


def read_config(policy: str, *, offline: bool = False) -> Any:
    """The configuration of a policy, a ``transformers.PreTrainedConfig``; ``None`` if transformers cannot read it.

    ``offline`` leaves the Hugging Face hub alone.
    """
    from transformers import AutoConfig

    try:
        return AutoConfig.from_pretrained(policy, local_files_only=offline)
    except (OSError, ValueError):
        return None


def load_tokenizer(policy: str, *, offline: bool = False) -> Any:
    """The policy's tokenizer; ``offline`` leaves the Hugging Face hub alone.

    Raises:
        InputError: The tokenizer cannot be loaded.
    """
    require("rl", "transformers")
    from transformers import AutoTokenizer

    try:
        return AutoTokenizer.from_pretrained(policy, local_files_only=offline)
    except Exception as error:
        what = f"the tokenizer of {policy} cannot be loaded: {first_line(error)}"
        fix = "Give a folder in the format of Hugging Face, or check that the hub can be reached."
        raise InputError(what, where="--policy", fix=fix) from None


def training_rows(plan: RunPlan) -> int:
    """Number of rows of the training dataset: one for each group of the run.

    With dynamic sampling the need is unknown; verl begins again with the first row if there are too few.
    """
    return plan.steps * plan.groups * (REPLACED if plan.dynamic_sampling else 1)


def write_rows(
    path: Path, sources: Weighted, tokenizer: Any, plan: RunPlan, purpose: Purpose, rows: int
) -> DatasetFacts:
    """Write a dataset of a run; see `write_dataset`."""
    return write_dataset(
        path,
        sources,
        tokenizer,
        purpose=purpose,
        max_prompt_length=plan.max_prompt_length,
        seed=plan.seed,
        thinking=plan.thinking,
        rows=rows,
    )


def write_data(folder: RunFolder, plan: RunPlan, worlds: Weighted, validation: Weighted, policy: str) -> int:
    """Write verl's datasets, unless an earlier start of the run has; return the number of training rows.

    If a resumed run has more steps than before, its training dataset is extended and keeps its first rows. If it has
    validation for the first time, a validation dataset is written.

    Raises:
        InputError: A prompt is longer than the run allows.
    """
    known = json.loads(folder.data.read_text(encoding="utf-8")) if folder.data.is_file() else {}
    wanted: dict[Purpose, tuple[Weighted, int]] = {}
    if known.get(TRAIN, {}).get("rows", 0) < training_rows(plan):
        wanted[TRAIN] = worlds, training_rows(plan)
    if VAL not in known:  # verl needs validation rows even if it never uses them; one training row is enough
        wanted[VAL] = (validation, plan.validation_tasks) if validation else (worlds, 1)
    tokenizer = load_tokenizer(policy) if wanted else None
    for purpose, (sources, rows) in wanted.items():
        facts = write_rows(folder.path / f"{purpose}.parquet", sources, tokenizer, plan, purpose, rows)
        if purpose == TRAIN or validation:
            known[purpose] = {"rows": facts.rows, "by_env": dict(facts.by_env), "longest_prompt": facts.longest}
    write_whole(folder.data, json.dumps(known, indent=1) + "\n")
    return int(known[TRAIN]["rows"])


def write_agent_loops(folder: RunFolder, asked: GrpoOptions, plan: RunPlan, workers: int) -> None:
    """Write verl's agent loop configuration with the settings of rollout workers; no address and no API key."""
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
    """Environment variables with the model endpoints of the command line, for the training's processes.

    Addresses may contain credentials, so they are never written to files.

    Raises:
        InputError: Ray runs already, so its processes do not inherit the variables of this process.
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
        what = "processes of a running cluster read endpoints from environment variables of their own machines"
        fix = f"Export {' and '.join(found)} on every machine before `ray start`, and here."
        raise InputError(what, where="--base-url", fix=fix)
    return found
