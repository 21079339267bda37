"""What the tests of served environments share."""

from __future__ import annotations

from types import ModuleType

import pytest

from .services import SERVICES, service_named


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A warning that code of ours causes is an error; those within the libraries of OpenEnv are not ours to mend."""
    for item in items:
        if "openenv" in item.nodeid and "tests/serving" in item.nodeid:
            item.add_marker(pytest.mark.filterwarnings("ignore:::(?!simia_gym|tests)"))


@pytest.fixture(params=SERVICES)
def service(request: pytest.FixtureRequest) -> ModuleType:
    """The module that plays over one of them."""
    return service_named(request.param)
