"""Shared by the two TRL examples: command-line options, trainer settings, and progress lines."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from simia_gym.domain.registration import resolve_env
from simia_gym.rl.chat.thinking import choose_thinking, template_arguments
from simia_gym.rl.extras import hide_progress_bars, require
from simia_gym.rl.sft.trainer import load
from simia_gym.rl.small.card import Card, read_card, write_card

SHOWN = ("reward", "episodes/success", "episodes/valid", "episodes/turns", "grad_norm", "completions/mean_length")


def options(description: str, argv: Sequence[str] | None = None) -> argparse.Namespace:
    """Parse the command line, and check that the extra is installed."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("env", help="id of an environment, or the folder of your own domain")
    parser.add_argument("--policy", required=True, help="a Hugging Face model, such as one of `simia train sft`")
    parser.add_argument("--rows", type=int, default=8, help="rows of the dataset: a task and a seed each")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--groups", type=int, default=2, help="rows in a step")
    parser.add_argument("--group-size", type=int, default=8, help="episodes for each row")
    parser.add_argument("--eval-every", type=int, default=0, help="steps between two evaluations on dev; 0 for none")
    parser.add_argument("--lr", type=float, default=3e-4)
    parser.add_argument("--max-completion-length", type=int, default=1024, help="tokens after the prompt, in all turns")
    parser.add_argument("--prompt", choices=("compact", "full"), default="compact")
    parser.add_argument("--thinking", choices=("never", "keep"), help="by default as the policy was trained, else keep")
    parser.add_argument("--generated", type=int, default=0, help="generated tasks, besides the fixed ones")
    parser.add_argument("--simulator", default="auto", help="world, llm, hybrid or auto")
    parser.add_argument("--model", help="model of the simulator and the user, if a model plays them")
    parser.add_argument("--base-url", help="its endpoint")
    parser.add_argument("--vllm", action="store_true", help="sample with TRL's vLLM (needs a GPU)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("runs/trl"))
    asked = parser.parse_args(argv)
    trained = read_card(asked.policy) or Card()
    asked.thinking = choose_thinking(asked.thinking, trained.thinking, policy=asked.policy, where="--thinking")
    require("trl", "torch", "transformers", "trl", "datasets")
    hide_progress_bars()
    os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")
    return asked


def world(asked: argparse.Namespace) -> tuple[str, dict[str, Any]]:
    """The environment's id and its settings."""
    settings: dict[str, Any] = {"prompt": asked.prompt, "simulator": asked.simulator, "without_dev": True}
    for name in ("generated", "model", "base_url"):
        if getattr(asked, name):
            settings[name] = getattr(asked, name)
    env, domain = resolve_env(asked.env)
    return env, settings if domain is None else {**settings, "domain": domain}


def policy(asked: argparse.Namespace) -> tuple[Any, Any]:
    """The model to train and its tokenizer."""
    model, tokenizer = load(asked.policy)
    tokenizer.padding_side = "left"
    return model, tokenizer


def config(asked: argparse.Namespace, **more: Any) -> Any:
    """The trainer's settings: one batch of episodes for each update, so training is on-policy."""
    import torch
    from trl import GRPOConfig

    card = torch.cuda.is_available()
    return GRPOConfig(
        output_dir=str(asked.out),
        use_cpu=not card,
        bf16=card and torch.cuda.is_bf16_supported(),
        per_device_train_batch_size=asked.groups * asked.group_size,
        num_generations=asked.group_size,
        max_completion_length=asked.max_completion_length,
        learning_rate=asked.lr,
        lr_scheduler_type="constant",
        max_steps=asked.steps,
        seed=asked.seed,
        eval_strategy="steps" if asked.eval_every else "no",
        eval_steps=asked.eval_every or None,
        per_device_eval_batch_size=asked.groups * asked.group_size,
        num_generations_eval=1,
        temperature=1.0,
        top_p=1.0,
        top_k=0,
        beta=0.0,
        use_vllm=asked.vllm,
        chat_template_kwargs=template_arguments(asked.thinking),
        gradient_checkpointing=card,
        logging_steps=1,
        save_strategy="no",
        report_to=[],
        disable_tqdm=True,
        **more,
    )


def train(trainer: Any, asked: argparse.Namespace) -> list[dict[str, float]]:
    """Train and print a line for each step; write ``metrics.jsonl`` and the trained policy.

    Returns:
        The logged values of each step and of each evaluation, whose names begin with ``eval_``.
    """
    from transformers import PrinterCallback, TrainerCallback

    asked.out.mkdir(parents=True, exist_ok=True)

    class Lines(TrainerCallback):
        def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
            for before, split in (("", ""), ("eval_", "  dev:")):
                found = {name: float(logs[before + name]) for name in SHOWN if before + name in (logs or {})}
                if "reward" in found:
                    shown = "  ".join(f"{name.split('/')[-1]} {value:.3f}" for name, value in found.items())
                    print(f"step {state.global_step:3}{split}  {shown}", flush=True)

    trainer.remove_callback(PrinterCallback)
    trainer.add_callback(Lines())
    trainer.train()
    steps = [{k: v for k, v in one.items() if isinstance(v, int | float)} for one in trainer.state.log_history]
    steps = [one for one in steps if "reward" in one or "eval_reward" in one]
    with (asked.out / "metrics.jsonl").open("w", encoding="utf-8") as file:
        file.writelines(f"{json.dumps(one)}\n" for one in steps)
    trainer.save_model(str(asked.out / "policy"))
    trained = read_card(asked.policy) or Card()
    write_card(asked.out / "policy", replace(trained, prompt=asked.prompt, thinking=asked.thinking))
    print(f"metrics and policy are in {asked.out}")
    return steps
