from __future__ import annotations

from collections.abc import AsyncIterator

import pytest_asyncio

from ..model_server import ModelServer, serving
from .server import says


@pytest_asyncio.fixture
async def server() -> AsyncIterator[ModelServer]:
    async with serving(says("Hello")) as it:
        yield it
