"""A recipe for each domain, and the commands of its stages."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

DECODING = ("greedy", "sampled")
"""Decodings of the evaluations: greedy, and sampled at the temperature of GRPO's episodes."""


@dataclass(frozen=True)
class Recipe:
    """How the policy of one domain is created and trained.

    Attributes:
        env: The environment's id.
        size: Shape of the model, as in `simia new-policy`; its weights are random, except the copying heads.
        openings: Number of the expert's trajectories whose first turns are imitated in the first stage.
        opening_turns: Number of the expert's turns in each of these; ``None`` for all.
        whole_every: Every so many of these trajectories one is whole, so that later turns are learned, too.
        trajectories: Number of whole trajectories that are imitated in the second stage.
        sft: Further options of ``simia train sft``, in both stages.
        steps: Number of GRPO steps.
        grpo: Further options of ``simia train grpo``.
        train_tasks: Number of generated training tasks of GRPO.
        test_tasks: Number of generated test tasks of the evaluation, besides the fixed test tasks.
        temperature: Sampling temperature in GRPO and in the sampled evaluation.
        turn_tokens: Maximum tokens of one turn, in GRPO and in evaluation.
        prompt: Kind of the system message.
        untrained: Whether to evaluate the untrained policy, too. It is slow if episodes do not end before their limit.
    """

    env: str
    sft: str
    grpo: str
    size: str = "small"
    openings: int = 24_000
    opening_turns: int | None = 1
    whole_every: int = 10
    trajectories: int = 1_500
    steps: int = 25
    train_tasks: int = 20_000
    test_tasks: int = 240
    temperature: float = 0.7
    turn_tokens: int = 64
    prompt: Literal["full", "compact"] = "compact"
    untrained: bool = True


_SFT = "--fresh-ids --fresh-words --max-length 1500 --held-out 32"
_OPENINGS, _WHOLE = "--batch-size 48 --lr 2e-3", "--batch-size 12 --lr 1e-3"
_GRPO = (
    "--groups 16 --group-size 8 --max-prompt-length 256 --max-response-length 1300 "
    "--set actor_rollout_ref.actor.ppo_mini_batch_size=8 "
    "--set actor_rollout_ref.actor.loss_agg_mode=seq-mean-token-mean "
    "--set actor_rollout_ref.actor.ppo_max_token_len_per_gpu=4096 "
    "--set algorithm.rollout_correction.bypass_mode=true --set actor_rollout_ref.actor.calculate_entropy=true"
)
"""Two updates in a step. Every episode has the same weight: with a mean over tokens, failed episodes, which are longer,
would weigh more, and their common parts with successful ones would be unlearned. Rollout and training compute in
float32 and agree to 1e-5, so the rollout's log-probabilities are used; verl then computes the entropy only if told to.
"""

RECIPES = {
    "webshop": Recipe(env="simia/webshop-v0", sft=_SFT, grpo=f"{_GRPO} --lr 1.5e-4", steps=36),
    "retail": Recipe(
        env="simia/retail-v0",
        openings=12_000,
        opening_turns=None,
        trajectories=8_000,
        steps=14,
        temperature=1.0,
        sft=_SFT,
        grpo=f"{_GRPO} --lr 1.5e-4 --dynamic-sampling --save-every 2",
        turn_tokens=192,
        untrained=False,
    ),
}


def quick(recipe: Recipe) -> Recipe:
    """A version that runs in a few minutes, to test every stage; it learns nothing."""
    grpo = f"{recipe.grpo} --groups 2 --group-size 2 --set actor_rollout_ref.actor.ppo_mini_batch_size=1"
    return replace(
        recipe, size="tiny", openings=400, trajectories=200, steps=2, grpo=grpo, train_tasks=50, test_tasks=10
    )


@dataclass(frozen=True)
class Stage:
    """One command, and the file that it writes last.

    Attributes:
        name: Name of the stage.
        words: Arguments of the command ``simia``.
        done: A file that exists when the stage is finished.
        begun: A file that exists if the stage can be continued with ``--resume``.
    """

    name: str
    words: tuple[str, ...]
    done: Path
    begun: Path | None = None


def stages(recipe: Recipe, seed: int, folder: Path, *, world: str = "", taught: Path | None = None) -> list[Stage]:
    """The stages of one run, in order.

    Args:
        recipe: The recipe.
        seed: Seed of weights, order, episodes and sampling.
        folder: Folder of the run.
        world: Options that choose another simulator for GRPO, such as ``--simulator llm --model M --base-url U``. The
            evaluation is always on the domain's own world.
        taught: An imitation policy of another run; by default the run trains its own.
    """
    start, openings, sft, grpo = (folder / name for name in ("start", "openings", "sft", "grpo"))
    same = f"--prompt {recipe.prompt}"
    policies = {"grpo": grpo / "policy"}
    found = []
    if taught is None:
        policies = {"sft": sft / "policy", **policies}
        if recipe.untrained:
            policies = {"start": start, **policies}
        words = f"new-policy {start} --env {recipe.env} --size {recipe.size} --copying --seed {seed}"
        found.append(_stage("new-policy", words, start / "simia.json"))
        begun = f"--trajectories {recipe.openings} "
        if recipe.opening_turns is not None:
            begun += f"--first-turns {recipe.opening_turns} --whole-every {recipe.whole_every} "
        begun += f"{_OPENINGS} --seed {seed}"
        whole = f"--trajectories {recipe.trajectories} {_WHOLE} --seed {seed + 1}"  # other wording
        for out, policy, words in ((openings, start, begun), (sft, openings / "policy", whole)):
            words = f"train sft {recipe.env} --policy {policy} --out {out} {same} {recipe.sft} {words}"
            found.append(_stage(out.name, words, out / "policy" / "simia.json", out / "settings.json"))
    words = f"train grpo {recipe.env} --policy {taught or sft / 'policy'} --steps {recipe.steps} --out {grpo} {same} "
    words += f"--generated {recipe.train_tasks} --turn-tokens {recipe.turn_tokens} {recipe.grpo} "
    words += f"--val-every {min(6, recipe.steps)} "
    words += f"--temperature {recipe.temperature} "
    words += f"--seed {seed} {world or '--simulator world'}"
    found.append(_stage("grpo", words, grpo / "policy" / "simia.json", grpo / "settings.json"))
    for name, policy in policies.items():
        for label, temperature in zip(DECODING, (0, recipe.temperature), strict=True):
            report, record = folder / f"{name}-{label}.json", folder / f"{name}-{label}.jsonl"
            words = f"evaluate {recipe.env} --policy hf --policy-model {policy} {same} --split test "
            words += f"--generated {recipe.test_tasks} --simulator world --concurrency 64 --seed {seed} "
            words += f"--role policy.temperature={temperature} --role policy.max_tokens={recipe.turn_tokens} "
            words += f"--out {record} --report {report}"
            found.append(_stage(f"evaluate {name} {label}", words, report, record))
    return found


def _stage(name: str, words: str, done: Path, begun: Path | None = None) -> Stage:
    return Stage(name, tuple(words.split()), done, begun)
