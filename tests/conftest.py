"""What every test shares."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parent.parent
SHARED = CHECKOUT.parent / "shared" / "data"


@pytest.fixture(autouse=True)
def _no_endpoints(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test may reach somebody's endpoint through a variable of the machine."""
    for name in list(os.environ):
        if name.startswith(("OPENAI_", "AZURE_OPENAI_", "SIMIA_")):
            monkeypatch.delenv(name)


@pytest.fixture
def checkout() -> Path:
    """The top folder of the checkout."""
    return CHECKOUT


@pytest.fixture
def shared_data() -> Path:
    """Real benchmark data that lies beside some checkouts; tests that need it are skipped elsewhere."""
    if not SHARED.is_dir():
        pytest.skip("the real benchmark data (../shared/data) is not on this machine")
    return SHARED
