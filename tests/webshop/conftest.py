"""The shop, loaded once."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from simia_gym.assembly.settings import EnvConfig
from simia_gym.assembly.suite import Suite, load_suite
from simia_gym.envs.webshop.catalogue.catalogue import tables
from simia_gym.types import JsonObject


@pytest.fixture(scope="session")
def suite() -> Suite:
    return load_suite(EnvConfig(env="simia/webshop-v0", split="all", generated=300))


@pytest.fixture(scope="session")
def products() -> Mapping[str, JsonObject]:
    return tables()["products"]
