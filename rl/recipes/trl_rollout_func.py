"""GRPO with TRL's ``rollout_func``: whole episodes, token in and token out.

python -m simia_gym.rl.recipes.trl_rollout_func simia/webshop-v0 --policy Qwen/Qwen3-0.6B
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from simia_gym.errors import InputError
from simia_gym.rl.recipes import trl_common


def main(argv: Sequence[str] | None = None) -> list[dict[str, float]]:
    """Train with the options of the command line; return the logged values of each step."""
    asked = trl_common.options("GRPO on one of our environments with TRL's rollout_func.", argv)
    from trl import GRPOTrainer

    from simia_gym.rl import episode_reward, episodes_rollout

    env, settings = trl_common.world(asked)
    episodes = episodes_rollout(env, turn_tokens=min(256, asked.max_completion_length), **settings)
    model, tokenizer = trl_common.policy(asked)
    trainer = GRPOTrainer(
        model=model,
        processing_class=tokenizer,
        args=trl_common.config(asked),
        train_dataset=episodes.dataset(asked.rows, seed=asked.seed),
        eval_dataset=episodes.dataset(split="dev") if asked.eval_every else None,
        rollout_func=episodes,
        reward_funcs=episode_reward,
    )
    return trl_common.train(trainer, asked)


if __name__ == "__main__":
    try:
        main()
    except InputError as error:
        sys.exit(f"Error: {error}")
