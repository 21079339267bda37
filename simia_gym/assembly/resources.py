"""What an environment needs and its settings cannot hold: addresses, live clients, files, budgets.

Settings (`EnvConfig`) decide what an episode is and are written into every record. What stands here decides only where
the answers come from, and is never written anywhere.
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
    from simia_gym.llm.cassette.cassette import Cassette
    from simia_gym.llm.types import ChatModel
    from simia_gym.simulators.pins import PinStore

ROLES = ("simulator", "escalation", "user", "judge")
"""The roles that a model can have in an environment; ``escalation`` is the stronger model of the simulator."""


@dataclass(frozen=True)
class Resources:
    """Live resources of an environment, all optional.

    Attributes:
        base_url: The endpoint of all roles, such as ``http://127.0.0.1:8000/v1``; else the environment's variables.
        base_urls: Endpoints of single roles.
        api_key: The key of all roles; better left to the environment's variables.
        api_keys: Keys of single roles.
        client: An ``openai.AsyncOpenAI`` or ``AsyncAzureOpenAI`` whose address, headers and key are used.
        clients: Such clients for single roles.
        models: Sources of answers that take the place of endpoints, by role.
        simulator: A simulator of your own, or a function that makes one for each episode.
        cassette: Records the answers of all roles, or plays them back.
        pins: Where the pinned answers of groups lie; by default in memory.
        budget: What may be spent at most.
        accounts: Where calls, tokens and costs are counted; by default one account for the process.
    """

    base_url: str | None = None
    base_urls: Mapping[str, str] = field(default_factory=dict)
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
        """Refuse roles that do not exist.

        Raises:
            InputError: Names the part and the role.
        """
        for name in ("base_urls", "api_keys", "clients", "models"):
            unknown = sorted(set(getattr(self, name)) - set(ROLES))
            if unknown:
                raise InputError(f"there is no role {unknown[0]!r}", where=name, fix=f"Roles: {', '.join(ROLES)}.")

    def __getstate__(self) -> dict[str, Any]:
        """What a pickle of an environment holds of its resources.

        Raises:
            InputError: A resource belongs to this process and cannot be pickled; names it.
        """
        state = dict(vars(self))
        for name, value in state.items():
            try:
                pickle.dumps(value)
            except (TypeError, AttributeError, pickle.PicklingError) as error:
                fix = "Make the environment, with this resource, in the process that uses it."
                raise InputError(f"{name} cannot be pickled or copied: {error}", where=name, fix=fix) from error
        return state


RESOURCE_NAMES = tuple(item.name for item in dataclasses.fields(Resources))
