"""The command line's options about models: names, endpoints, cassettes and limits."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from simia_gym.assembly.resources import Resources
from simia_gym.assembly.settings import MODELS, EnvConfig
from simia_gym.common.settings import Settings, setting
from simia_gym.errors import InputError
from simia_gym.policies.base import PolicyOptions

POLICY = "policy"


class ModelSources(Settings):
    """Models by role, their endpoints, cassettes and limits."""

    base_url: str | None = setting(
        None, "OpenAI-compatible endpoint of the models.", metavar="URL", panel=MODELS, also=("client",)
    )
    escalation_base_url: str | None = setting(
        None,
        "Endpoint of the model of --role escalation.model.",
        metavar="URL",
        panel=MODELS,
        also=("base_urls.escalation",),
    )
    user_model: str | None = setting(
        None, "Another model for the user.", metavar="NAME", panel=MODELS, also=("roles.user",)
    )
    user_base_url: str | None = setting(
        None, "Another endpoint for the user.", metavar="URL", panel=MODELS, also=("base_urls.user",)
    )
    judge_model: str | None = setting(
        None, "Another model for the judge.", metavar="NAME", panel=MODELS, also=("roles.judge",)
    )
    judge_base_url: str | None = setting(
        None, "Another endpoint for the judge.", metavar="URL", panel=MODELS, also=("base_urls.judge",)
    )
    role: Mapping[str, Mapping[str, Any]] = setting(
        {},
        "Setting of the model of simulator, escalation, user, judge, policy or a role of the domain.",
        metavar="ROLE.KEY=VALUE",
        panel=MODELS,
        also=("roles",),
    )
    record_cassette: Path | None = setting(
        None, "Record all models' replies to this file.", metavar="FILE", panel=MODELS
    )
    replay_cassette: Path | None = setting(
        None, "Replay all models' replies from this file.", metavar="FILE", panel=MODELS
    )
    max_cost: int | float | None = setting(None, "Maximum cost of the run.", metavar="USD", panel=MODELS, gt=0)
    max_calls: int | None = setting(None, "Maximum number of requests to models.", metavar="N", panel=MODELS, ge=1)
    max_tokens: int | None = setting(
        None, "Maximum number of tokens, prompts and replies together.", metavar="N", panel=MODELS, ge=1
    )

    def __post_init__(self) -> None:
        """Check that at most one cassette is given."""
        if self.record_cassette is not None and self.replay_cassette is not None:
            what = "a run either records a cassette or replays one"
            raise InputError(what, where="replay_cassette", fix="Give one of them.")

    @property
    def replaying(self) -> bool:
        """Whether replies come from a cassette, so that no request is sent."""
        return self.replay_cassette is not None

    def roles(self) -> dict[str, dict[str, Any]]:
        """Settings of the environment's models by role, as `EnvConfig` has them."""
        roles = {role: dict(given) for role, given in self.role.items() if role != POLICY}
        for role, name in (("user", self.user_model), ("judge", self.judge_model)):
            if name is not None:
                roles.setdefault(role, {})["model"] = name
        return roles

    def policy(self, model: str | None = None, base_url: str | None = None) -> PolicyOptions:
        """Settings of the policy's model."""
        given = dict(self.role.get(POLICY, {}))
        known = [name for name, field in PolicyOptions.fields().items() if field.repr and name != "model"]
        for name in given:
            if name not in known:
                raise InputError(f"unknown setting {name!r}", where="role.policy", fix=f"Known: {', '.join(known)}.")
        return PolicyOptions.from_json({**given, "model": model, "base_url": base_url}, where="role.policy")

    def check_used(self, config: EnvConfig) -> None:
        """Refuse options about models in a run without models."""
        limits = ("record_cassette", "replay_cassette", "max_cost", "max_calls", "max_tokens")
        given = [name for name in limits if getattr(self, name) is not None]
        given += [] if config.pins else ["pins"]
        if given:
            fix = "Say what a model plays (--simulator, --user, --judge or --policy llm), or leave it out."
            raise InputError("nothing is played by a model", where=given[0], fix=fix)

    def resources(self, *, resume: bool = False) -> Resources:
        """The live resources: addresses, cassette (with ``resume``, an existing one is continued), budget."""
        urls = {"escalation": self.escalation_base_url, "user": self.user_base_url, "judge": self.judge_base_url}
        budget = cassette = None
        if any(limit is not None for limit in (self.max_calls, self.max_tokens, self.max_cost)):
            from simia_gym.llm.budget import Budget

            budget = Budget(max_calls=self.max_calls, max_tokens=self.max_tokens, max_cost=self.max_cost)
        path = self.replay_cassette or self.record_cassette
        if path is not None:
            from simia_gym.llm.cassette import Cassette

            cassette = Cassette(path, "replay") if self.replaying else Cassette(path, "record", resume=resume)
        base_urls = {role: url for role, url in urls.items() if url is not None}
        return Resources(base_url=self.base_url, base_urls=base_urls, budget=budget, cassette=cassette)
