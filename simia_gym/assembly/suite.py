"""Builds episodes from settings: loads the domain and the tasks, and makes simulator, user and reward."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast

from simia_gym.assembly.resources import Resources
from simia_gym.assembly.roles import RoleModels
from simia_gym.assembly.settings import EnvConfig, SimulatorName
from simia_gym.assembly.validate import check_effects
from simia_gym.common.dotted_names import foreign_code
from simia_gym.common.event_loop import run_sync
from simia_gym.contracts import Simulator, StepContext, User
from simia_gym.domain.domain import Domain
from simia_gym.domain.loading import load_domain
from simia_gym.domain.registration import CUSTOM, domain_path
from simia_gym.domain.tasks import TaskList
from simia_gym.domain.world import WorldSimulator
from simia_gym.episode import Episode
from simia_gym.errors import InputError, did_you_mean
from simia_gym.llm.types import ChatModel
from simia_gym.policies import Policy, PolicyOptions, load_policy
from simia_gym.record.finished_episode import Reward
from simia_gym.record.ledger import Ledger
from simia_gym.types import JsonObject, Task
from simia_gym.users import make_user

if TYPE_CHECKING:
    from simia_gym.simulators.hybrid import ModelSide
    from simia_gym.simulators.pins import PinStore
    from simia_gym.simulators.replay import Event

LLM = "llm"
logger = logging.getLogger("simia_gym")


class Suite:
    """A loaded environment: its domain, tasks and models. It makes episodes.

    Args:
        config: The settings.
        resources: Addresses, clients, files and budgets of the models.

    Attributes:
        tasks: The tasks of the split; see `Domain.tasks_of`.
        history: What policies are shown of the history; ``None`` for the whole transcript.
        simulator_name: Name of the simulator; never ``auto``.
        model_names: Names of the models in use, by role.
        reward: Judges the episodes.
        warnings: Sentences about settings with unexpected effects.
        prepare_episode: Called with every new episode, if given.

    Raises:
        InputError: A setting does not fit the domain, or a model is not configured.
        DomainError: The domain has mistakes.
    """

    def __init__(self, config: EnvConfig, resources: Resources | None = None, mark: bytes = b"") -> None:
        self.config, self.resources = config, resources or Resources()
        self.prepare_episode: Callable[[Episode], None] | None = None
        with foreign_code(folder_of(config)):
            self.domain: Domain = domain_of(config, mark)
        self.tasks: TaskList = tasks_of(self.domain, config)
        self.models = RoleModels(config, self.resources, self.domain.config.roles)
        self.simulator_name = self._simulator_name()
        self.history = self.domain.history_view(config.history)
        self.max_turns = config.max_turns or self.domain.config.max_turns
        self.model_names = self._model_names()
        check_effects(config, self.resources, self.domain, self.simulator_name, self.model_names, self.strategy)
        if self.domain.world is not None and (config.shadowed or self.simulator_name in ("world", "hybrid")):
            with foreign_code(self.domain.folder):
                self.domain.world.ready()
        self.reward = self._make_reward()
        self.warnings = self._look_ahead(self.make_simulator())
        if config.user is not None:
            self._try_user()
        user = config.user or self.domain.user or "nobody"
        logger.info("%s: tool calls answered by %s, user played by %s", config.env, self.simulator_name, user)

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle the settings and resources; unpickling loads the environment again.

        In this process, a copy has the domain of the original, even if the folder has been edited since.
        """
        return load_suite, (self.config, self.resources, self.domain.mark)

    def task(self, task_id: str) -> Task:
        """Find a task by its id, in any split; see `Domain.find_task`."""
        return self.domain.find_task(task_id)

    def load_policy(self, spec: str, options: PolicyOptions | None = None) -> Callable[[], Policy]:
        """Find a policy by its name or ``module:Class``; see `simia_gym.load_policy`. It shares budget and cassette."""
        own, folder, live = self.domain.config.policies, self.domain.folder, self.resources
        return load_policy(spec, own, options, folder=folder, budget=live.budget, cassette=live.cassette)

    def _simulator_name(self) -> SimulatorName:
        if self.resources.simulator is not None:
            return cast(SimulatorName, self._own_simulator().name)
        asked: SimulatorName = self.config.simulator
        if asked == "auto":
            asked = "llm" if self.models.configured() else "world"
        if asked == "world" and self.domain.world is None:
            fix = "Name a World class in domain.yaml, or let a model play it: simulator='llm' with model and base_url."
            raise InputError(f"{self.domain.name} has no world to run", where="simulator", fix=fix)
        return asked

    @property
    def strategy(self) -> Literal["ledger", "reference"]:
        """The strategy of the LLM simulator; ``auto`` means ``reference`` if the state has no tables."""
        if self.config.strategy != "auto":
            return self.config.strategy
        return "ledger" if any(not name.startswith("_") for name in self.domain.tables) else "reference"

    def _look_ahead(self, simulator: Simulator) -> tuple[str, ...]:
        """Warnings about problems that would otherwise show only after a long run."""
        found = []
        world = self.domain.world
        beyond = [name for name in self.domain.specs if world is not None and name not in world.tools]
        if self.simulator_name == "world" and beyond:
            found.append(f"only a model can simulate {beyond[0]!r} (simulator='hybrid'); its calls will be refused")
        if self.simulator_name in ("world", "hybrid"):
            needless = self.model_names if world is None else {*self.model_names, *world.optional_roles}
            dumb = [role for role in self.domain.config.roles if role not in needless]
            found += [f"no model plays the {role}; an episode in which a tool asks it is a fault" for role in dumb]
        why: Callable[[Task], str | None] | None = getattr(self.reward, "lost_without_state", None)
        lost = why(self.tasks[0]) if why is not None and getattr(simulator, "stateless", False) else None
        if lost is not None:
            found.append(f"the strategy 'reference' keeps no state, and {lost}: no episode will have a reward")
        return tuple(found)

    def _own_simulator(self) -> Simulator:
        given = self.resources.simulator
        made: object = given() if callable(given) else given
        if not callable(getattr(made, "call", None)) or not callable(getattr(made, "open", None)):
            fix = "Give an object with begin, open and call (simia_gym.contracts.Simulator), or a function making one."
            raise InputError(f"{type(made).__name__} is no simulator", where="simulator", fix=fix)
        return cast(Simulator, made)

    def _model_names(self) -> dict[str, str]:
        """The models in use; resolving them here reports a missing setting before any episode."""
        roles = []
        if self.resources.simulator is None and self.simulator_name in (LLM, "hybrid"):
            roles.append("simulator")
            if self.models.has("escalation"):
                roles.append("escalation")
        if self.config.user == LLM or (self.config.user is None and self.domain.user == LLM):
            roles.append("user")
        if self.config.judge is not None:
            roles.append("judge")
        if self.resources.simulator is None and self.simulator_name in ("world", "hybrid"):
            roles += [role for role in self.domain.config.roles if self.models.named(role)]
        for role in roles:
            self.models.get(role)
        return {role: self.models.settings(role).model or "" for role in roles}

    def _make_reward(self) -> Reward:
        judge = self.config.judge
        model = None if judge is None else self.models.get("judge")
        with foreign_code(self.domain.folder):
            return self.domain.make_reward(model, "all" if judge == "llm-all" else "llm", self.config.votes)

    @cached_property
    def pins(self) -> PinStore | None:
        """The store of the answers that groups share; ``None`` if no model simulates or ``pins`` is off."""
        if not self.config.pins or self.simulator_name not in (LLM, "hybrid"):
            return None
        from simia_gym.simulators.pins import MemoryPins

        return MemoryPins() if self.resources.pins is None else self.resources.pins

    @cached_property
    def _recorded(self) -> Mapping[tuple[str, int], Sequence[Event]]:
        if self.config.replay_from is None:
            fix = "Give replay_from=FILE (--replay-from), a record."
            raise InputError("simulator is 'replay' and no record is named", where="replay_from", fix=fix)
        from simia_gym.simulators.replay import read_episodes

        return read_episodes(self.config.replay_from)

    def _try_user(self) -> None:
        """Check that a scripted user can play these tasks, before any episode."""
        user, task = self.make_user(), self.tasks[0]
        if user is not None and not user.io:
            prepared = self.domain.prepare(task)
            context = StepContext(prepared, prepared.initial, Ledger(), 0, 0)
            user.begin(context)
            run_sync(user.open(context), inline=True)

    def make_simulator(self) -> Simulator:
        """Make the simulator of one episode."""
        simulator = self._bare_simulator()
        world = self.domain.world
        if not self.config.shadowed or isinstance(simulator, WorldSimulator):
            return simulator
        if world is None:
            fix = "Leave it out."
            where = "shadow_faults" if self.config.shadow_faults else "shadow"
            raise InputError(f"{self.domain.name} has no world to compare with", where=where, fix=fix)
        from simia_gym.simulators.shadow import ShadowedSimulator

        faults = self.config.shadow_faults
        return ShadowedSimulator(simulator, world, self.config.feedback, self.domain.uncounted, faults)

    def _bare_simulator(self) -> Simulator:
        if self.resources.simulator is not None:
            return self._own_simulator()
        world = self.domain.world
        name = self.simulator_name
        if name == "world":
            assert world is not None  # `_simulator_name` has checked it
            return WorldSimulator(world, self.config.feedback, self._of_tools)
        if name == "replay":
            from simia_gym.simulators.replay import ReplaySimulator

            return ReplaySimulator(self.domain, self._recorded)
        modelled = self._model_simulator()
        if name == "hybrid":
            from simia_gym.simulators.hybrid import HybridSimulator

            return HybridSimulator(self.domain, modelled, self.config.routes, self.config.feedback, self._of_tools)
        return modelled

    @cached_property
    def _of_tools(self) -> Mapping[str, ChatModel]:
        """The models that the world's tools ask, by role."""
        return {role: self.models.get(role) for role in self.domain.config.roles if role in self.model_names}

    def _model_simulator(self) -> ModelSide:
        model, feedback = self.models.get("simulator"), self.config.feedback
        stronger = self.models.get("escalation") if self.models.has("escalation") else None
        if self.strategy == "reference":
            from simia_gym.simulators.reference import ReferenceSimulator

            return ReferenceSimulator(self.domain, model, escalation=stronger, feedback=feedback)
        from simia_gym.simulators.checked import CheckedSimulator

        return CheckedSimulator(
            self.domain,
            model,
            escalation=stronger,
            pins=self.pins,
            feedback=feedback,
            # With a cassette, a group also shares faults: which episode asks first depends on timing.
            share_faults=self.resources.cassette is not None,
            asked_as=self._asked_as,
            render=self.config.render,
        )

    @cached_property
    def _asked_as(self) -> JsonObject:
        """The settings of the models that answer tool calls."""
        roles = (role for role in ("simulator", "escalation") if role in self.model_names)
        return {role: self.models.settings(role).to_answers() for role in roles}

    def make_user(self) -> User | None:
        """Make the user simulator of one episode; ``None`` if the domain has no user."""
        if self.domain.user is None:
            if self.config.user is not None:
                raise InputError(f"{self.domain.name} has no user", where="user", fix="Leave user out.")
            return None
        kind = self.config.user or self.domain.user
        if kind == LLM:
            from simia_gym.users.llm import LLMUser

            return LLMUser(self.domain, self.models.get("user"))
        return make_user(kind, self.domain.cues)

    def episode(self) -> Episode:
        """Make an episode that is independent of all others."""
        episode = Episode(
            self.domain,
            simulator=self.make_simulator(),
            user=self.make_user(),
            reward=self.reward,
            prompt=self.config.prompt,
            max_turns=self.max_turns,
            feedback=self.config.feedback,
            models=self.model_names,
            history=self.history,
            dialect=self.config.dialect,
        )
        if self.prepare_episode is not None:
            self.prepare_episode(episode)
        return episode


def folder_of(config: EnvConfig) -> Path:
    """The folder of the domain that the settings name."""
    return Path(config.domain or ".") if config.env == CUSTOM else domain_path(config.env)


def domain_of(config: EnvConfig, mark: bytes = b"") -> Domain:
    """Load the domain that the settings name, without the models that they name.

    An unknown option that resembles a setting is reported as a mistyped setting.
    """
    try:
        return load_domain(folder_of(config), config.options, config.data, config.grammar, mark=mark)
    except InputError as error:
        for name in config.options if error.where == "options" else ():
            hint = did_you_mean(name, (item.name for item in fields(config)))
            if hint and repr(name) in error.what:
                raise InputError(error.what, where=error.where, fix=f"{hint}{error.fix}") from None
        raise


def tasks_of(domain: Domain, config: EnvConfig) -> TaskList:
    """The tasks that the settings choose; see `Domain.tasks_of`.

    Raises:
        InputError: There are none, or there is no generator of the tasks that are to be generated.
    """
    if config.generated and domain.generator is None:
        reason = "with data of your own" if config.data else "in this domain"
        raise InputError(f"there is no task generator {reason}", where="generated", fix="Leave generated out.")
    tasks = domain.tasks_of(config.split, config.generated, without_dev=config.without_dev)
    if not tasks:
        place = f" of {config.data}" if config.data is not None else ""
        fix = "Choose another split, ask for generated tasks, or add the file with its tasks."
        if config.split == "dev":
            fix = "It is a fifth of train: write two or more train tasks, or a generator; or choose another split."
        raise InputError(f"there are no tasks in split {config.split!r}{place}", where="split", fix=fix)
    return tasks


def load_suite(config: EnvConfig, resources: Resources | None = None, mark: bytes = b"") -> Suite:
    """Load an environment; see `Suite`.

    Raises:
        InputError: A setting is invalid; the message names it and the fix.
        DomainError: The domain has mistakes, or its code raised an exception.
    """
    with foreign_code(folder_of(config), only_inside=True):
        return Suite(config, resources, mark)
