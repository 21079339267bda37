"""The lending desk as a service: what domain.yaml names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from simia_gym.service import Generator, Pushover, ServiceExpert, load_service
from simia_gym.service import rubric as service_rubric

from .world import DeskWorld

SERVICE = load_service(Path(__file__).parent, DeskWorld)
generate = Generator(SERVICE, "desk")


class DeskExpert(ServiceExpert):
    """Serves members within the rules."""

    service = SERVICE


class DeskPushover(Pushover):
    """Grants everything."""

    service = SERVICE


def cues() -> dict[str, Any]:
    """How the scripted user understands the agent."""
    return SERVICE.cues


def rubric() -> list[dict[str, Any]]:
    """What every episode is judged by."""
    return service_rubric(SERVICE)
