"""GRPO with TRL's ``environment_factory``: everything is a tool call.

python -m simia_gym.rl.recipes.trl_environment_factory simia/retail-v0 --policy Qwen/Qwen3-0.6B
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from simia_gym.errors import InputError
from simia_gym.rl.recipes import trl_common


def main(argv: Sequence[str] | None = None) -> list[dict[str, float]]:
    """Train with the options of the command line; return the logged values of each step."""
    asked = trl_common.options("GRPO on one of our environments with TRL's environment_factory.", argv)
    from simia_gym.rl import EpisodeGRPOTrainer, episode_metrics, tool_calling, tool_environments

    env, settings = trl_common.world(asked)
    environments = tool_environments(env, **settings)
    model, tokenizer = trl_common.policy(asked)
    trainer = EpisodeGRPOTrainer(
        model=model,
        processing_class=tool_calling(tokenizer),
        args=trl_common.config(asked, max_tool_calling_iterations=environments.suite.max_turns),
        train_dataset=environments.dataset(asked.rows, seed=asked.seed),
        eval_dataset=environments.dataset(split="dev") if asked.eval_every else None,
        environment_factory=environments,
        reward_funcs=episode_metrics,
    )
    return trl_common.train(trainer, asked)


if __name__ == "__main__":
    try:
        main()
    except InputError as error:
        sys.exit(f"Error: {error}")
