from __future__ import annotations

from collections.abc import AsyncIterator

import pytest_asyncio

from .server import ChatServer, serving


@pytest_asyncio.fixture
async def server() -> AsyncIterator[ChatServer]:
    async with serving() as it:
        yield it
