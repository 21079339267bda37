"""The live resources of an environment: addresses, keys, clients, files, budgets.

Settings (`EnvConfig`) define an episode and are written to every record. Resources only define where answers come from
and are never written.
"""

from __future__ import annotations

import dataclasses
import pickle
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from simia_gym.contracts import Simulator
from simia_gym.errors import InputError

if TYPE_CHECKING:
    from simia_gym.llm.accounts import Accounts
    from simia_gym.llm.budget import Budget
    from simia_gym.llm.cassette import Cassette
    from simia_gym.llm.types import ChatModel
    from simia_gym.simulators.pins import PinStore

ROLES = ("simulator", "escalation", "user", "judge")
"""The roles of models in every environment; a domain may have further ones for its tools. ``escalation`` is the
simulator's second, stronger model."""


@dataclass(frozen=True)
class Resources:
    """Live resources of an environment, all optional.

    Attributes:
        base_url: Endpoint of all roles, such as ``http://127.0.0.1:8000/v1``; by default from environment variables.
        base_urls: Endpoints by role.
        api_key: API key of all roles; by default from environment variables, which are the safer place.
        api_keys: API keys by role.
        client: An ``openai.AsyncOpenAI`` or ``AsyncAzureOpenAI`` whose address, headers and key are used.
        clients: Such clients by role.
        models: `ChatModel` objects that replace endpoints, by role.
        simulator: A custom simulator, or a function that makes one for each episode.
        cassette: Records the replies of all models, or replays them.
        pins: Store of the answers that groups share; by default in memory.
        budget: Limits of cost, tokens and requests.
        accounts: Counters of calls, tokens and costs; by default one for the process.

    Raises:
        InputError: A resource is of another kind.
    """

    base_url: str | None = field(default=None, repr=False)
    base_urls: Mapping[str, str] = field(default_factory=dict, repr=False)
    api_key: str | None = field(default=None, repr=False)
    api_keys: Mapping[str, str] = field(default_factory=dict, repr=False)
    client: Any = field(default=None, repr=False)
    clients: Mapping[str, Any] = field(default_factory=dict, repr=False)
    models: Mapping[str, ChatModel] = field(default_factory=dict)
    simulator: Simulator | Callable[[], Simulator] | None = None
    cassette: Cassette | None = None
    pins: PinStore | None = None
    budget: Budget | None = None
    accounts: Accounts | None = None

    def __post_init__(self) -> None:
        """Check the kinds of the values."""
        for name in ("base_urls", "api_keys", "clients", "models"):
            given = getattr(self, name)
            if not isinstance(given, Mapping):
                raise InputError(f"{name} is a {type(given).__name__}", where=name, fix="Give a dictionary by role.")
        for name, texts in (("base_url", self.base_urls), ("api_key", self.api_keys)):
            for text in (getattr(self, name), *texts.values()):
                if text is not None and not isinstance(text, str):
                    raise InputError(f"{name} is a {type(text).__name__}", where=name, fix="Give a text.")
        if self.cassette is not None and not hasattr(self.cassette, "wrap"):
            fix = 'Give simia_gym.Cassette(PATH, "record") or Cassette(PATH, "replay").'
            raise InputError(f"cassette is a {type(self.cassette).__name__}", where="cassette", fix=fix)

    def __getstate__(self) -> dict[str, Any]:
        """Check that every resource can be pickled, as part of an environment; the error names one that cannot."""
        state = dict(vars(self))
        for name, value in state.items():
            try:
                pickle.dumps(value)
            except (TypeError, AttributeError, pickle.PicklingError) as error:
                fix = "Make the environment, with this resource, in the process that uses it."
                raise InputError(f"{name} cannot be pickled or copied: {error}", where=name, fix=fix) from error
        return state


RESOURCE_NAMES = tuple(item.name for item in dataclasses.fields(Resources))
