"""What ``service: service.yaml`` in ``domain.yaml`` supplies: cues, rubric, generator, and policies."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

from simia_gym.service import criteria
from simia_gym.service.expert import Pushover, ServiceExpert, Thinker
from simia_gym.service.generate import Generator
from simia_gym.service.service import Service, load_service
from simia_gym.types import JsonObject


class Parts:
    """The parts of a domain that follow from its service; ``domain.yaml`` names them as ``service.yaml:expert``."""

    def __init__(self, service: Service) -> None:
        self._service = service

    def cues(self) -> JsonObject:
        """How the scripted user understands the agent."""
        return self._service.cues

    def rubric(self) -> list[JsonObject]:
        """What every episode is judged by."""
        return criteria.rubric(self._service)

    @cached_property
    def generator(self) -> Generator:
        """Makes any number of tasks."""
        return Generator(self._service, self._service.ids)

    @cached_property
    def expert(self) -> type[ServiceExpert]:
        """The policy that serves every customer within the rules."""
        return type("Expert", (ServiceExpert,), {"service": self._service})

    @cached_property
    def thinker(self) -> type[Thinker]:
        """The expert with a note in front of each action."""
        return type("Thinker", (Thinker,), {"service": self._service})

    @cached_property
    def pushover(self) -> type[Pushover]:
        """The policy that grants everything; a reward that passes it on a forbidden wish is wrong."""
        return type("Pushover", (Pushover,), {"service": self._service})


def load_parts(path: Path) -> Parts:
    """The parts of the service that a file declares; see `load_service`."""
    return Parts(load_service(path.parent))
