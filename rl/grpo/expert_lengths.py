"""The tokens of the expert's episodes under a policy's tokenizer, and the longest response that follows from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from simia_gym.rl.chat.thinking import DEFAULT
from simia_gym.rl.chat.tokens import Conversation
from simia_gym.rl.chat.trajectories import Trajectory, expert_play
from simia_gym.rl.grpo.config.options import GrpoOptions, RunPlan
from simia_gym.rl.grpo.dataset import Weighted
from simia_gym.rl.grpo.prepare import load_tokenizer, names_of, read_config
from simia_gym.rl.grpo.run.run_folder import RunFolder
from simia_gym.rl.resume import read_settings

EXPERT = "expert"
_PLAYED = 32
"""So many of the expert's episodes are measured in each environment."""
_MORE, _STEP = 1.25, 256
"""A policy needs more room than the expert; lengths are rounded up to a multiple."""


def measure_responses(worlds: Weighted, policy: str, *, offline: bool = False) -> dict[str, list[int]]:
    """Lengths in tokens of what follows the prompt in the expert's episodes, by environment, shortest first.

    Environments without an expert, or whose episodes wait for a model, are left out.
    """
    played = {
        env: expert_play(suite, range(min(len(suite.tasks), _PLAYED)))
        for env, (suite, _) in zip(names_of(worlds), worlds, strict=True)
        if EXPERT in suite.domain.config.policies and suite.domain.world is not None and not suite.model_names
    }
    if not played:
        return {}
    tokenizer = load_tokenizer(policy, offline=offline)
    found = {
        env: sorted(_behind_prompt(tokenizer, item) for item in items if isinstance(item, Trajectory))
        for env, items in played.items()
    }
    return {env: lengths for env, lengths in found.items() if lengths}


def chosen_length(asked: GrpoOptions, plan: RunPlan, folder: RunFolder) -> int | None:
    """The longest response if it is settled already: as typed, as in the run that is resumed, or as a new policy's."""
    if plan.policy is None or "max_response_length" in asked.training:
        return plan.max_response_length
    length = (read_settings(folder.path) or {}).get("max_response_length") if asked.launch.resume else None
    return length if isinstance(length, int) else None


def with_room(plan: RunPlan, lengths: Mapping[str, list[int]], policy: str, *, offline: bool = False) -> RunPlan:
    """The plan with a longest response that has room for the expert's episodes, as far as the policy's context has.

    Args:
        plan: The plan, with the profile's longest response.
        lengths: See `measure_responses`.
        policy: The policy's folder or name.
        offline: Whether to leave the Hugging Face hub alone.
    """
    longest = max((found[-1] for found in lengths.values()), default=0)
    if longest <= plan.max_response_length:
        return plan
    wanted = -(-int(longest * _MORE) // _STEP) * _STEP
    model = read_config(policy, offline=offline)
    room = None if model is None else getattr(model.get_text_config(), "max_position_embeddings", None)
    if isinstance(room, int):
        wanted = min(wanted, room - plan.max_prompt_length)
    return replace(plan, max_response_length=max(wanted, plan.max_response_length))


def _behind_prompt(tokenizer: Any, played: Trajectory) -> int:
    """Number of tokens of a trajectory behind its prompt, put together as in an episode."""
    turns = [place for place, message in enumerate(played.messages) if message["role"] == "assistant"]
    talk = Conversation(tokenizer, played.messages[: turns[0]], DEFAULT)
    for turn, following in zip(turns, [*turns[1:], None], strict=True):
        heard = [] if following is None else played.messages[turn + 1 : following]
        text = tokenizer.encode(str(played.messages[turn]["content"]), add_special_tokens=False)
        talk.said([*text, *talk.ends_with(heard)])
        if heard:
            talk.heard(heard)
    return len(talk.ids) - talk.prompt_length
