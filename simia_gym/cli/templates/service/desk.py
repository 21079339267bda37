"""The lending desk as a service: what domain.yaml names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from simia_gym.common.files import read_json
from simia_gym.service import Pushover as ServicePushover
from simia_gym.service import ServiceExpert, load_service
from simia_gym.service.criteria import rubric as service_rubric
from simia_gym.service.generate import Generator

from .world import DeskWorld

FOLDER = Path(__file__).parent
SERVICE = load_service(FOLDER / "service.yaml", DeskWorld, read_json(FOLDER / "state.json", what="state file"))
generate = Generator(SERVICE, "desk")


class Expert(ServiceExpert):
    """Serves members within the rules."""

    service = SERVICE


class Pushover(ServicePushover):
    """Grants everything."""

    service = SERVICE


def cues() -> dict[str, Any]:
    """How the scripted user understands the agent."""
    return SERVICE.cues


def rubric() -> list[dict[str, Any]]:
    """What every episode is judged by."""
    return service_rubric(SERVICE)
