"""Whether a policy thinks before it acts, decided in one place for training, rollouts and evaluation.

``never`` turns thinking off by the chat template's own switch. ``keep`` leaves it on. Earlier thinking then stays in
the context, also where the template would drop it, so that the tokens of an episode are only ever appended to and the
tokens that are trained on are those that were sampled.
"""

from __future__ import annotations

from typing import Any

from simia_gym.errors import InputError
from simia_gym.policies.base import THINKING_OFF, Thinking

DEFAULT: Thinking = "keep"


def template_arguments(thinking: Thinking) -> dict[str, Any]:
    """The arguments of the chat template."""
    return dict(THINKING_OFF) if thinking == "never" else {}


def choose_thinking(
    asked: Thinking | None,
    trained: str | None,
    default: Thinking | None = None,
    *,
    policy: object,
    where: str = "thinking",
) -> Thinking:
    """The setting of a run: what is asked for, else as the policy was trained, else the default.

    Args:
        asked: What the user asks for.
        trained: The setting of the policy's training, from its ``simia.json``.
        default: The default for policies without training, such as the profile's; else ``keep``.
        policy: The policy's folder or name, for the error message.
        where: Name of the setting in the error message.

    Raises:
        InputError: The policy was trained with the other setting.
    """
    if trained is not None and trained not in ("never", "keep"):
        what = f"its simia.json has thinking {trained!r}"
        raise InputError(what, where=f"policy {policy}", fix="Set it to never or keep, or take it out.")
    if asked is not None and trained is not None and asked != trained:
        what = f"the policy {policy} was trained with thinking {trained!r}, and {asked!r} is asked for"
        raise InputError(what, where=where, fix=f"Leave it out or give {trained}, or take another policy.")
    return asked or trained or default or DEFAULT  # type: ignore[return-value]
