"""The queue behind limits and budgets: requests of any thread and event loop wait for a permit."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections import deque
from dataclasses import dataclass
from typing import Generic, TypeVar

from simia_gym.errors import Fault
from simia_gym.llm.transport.forks import ForkSafe

Asked = TypeVar("Asked")
Permit = TypeVar("Permit")


@dataclass(eq=False, slots=True)
class _Waiting(Generic[Asked, Permit]):
    """A request that waits; it gets a permit or a fault."""

    asked: Asked
    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[None]
    permit: Permit | None = None
    fault: Fault | None = None


class FairQueue(ForkSafe, ABC, Generic[Asked, Permit]):
    """Gives permits first come, first served. Subclasses say what a permit is; `_lock` guards what they count."""

    def __init__(self) -> None:
        super().__init__()
        self._queue: deque[_Waiting[Asked, Permit]] = deque()

    def after_fork(self) -> None:
        """Forget the requests that the parent process has in flight."""
        self._queue.clear()

    @abstractmethod
    def _grant(self, asked: Asked) -> Permit | None:
        """Give a permit; ``None`` if the request must wait. A `Fault` ends a wait that would be in vain."""

    @abstractmethod
    def _take_back(self, permit: Permit) -> None:
        """Undo a permit that nobody used."""

    async def _wait(self, asked: Asked) -> Permit:
        """Wait for a permit; a cancelled wait takes none."""
        with self._lock:
            if not self._queue and (permit := self._grant(asked)) is not None:
                return permit
            loop = asyncio.get_running_loop()
            mine = _Waiting[Asked, Permit](asked, loop, loop.create_future())
            self._queue.append(mine)
        try:
            await mine.future
        except BaseException:
            with self._lock:
                if mine.permit is not None:
                    self._take_back(mine.permit)
                elif mine in self._queue:
                    self._queue.remove(mine)
                self._serve()
            raise
        if mine.permit is None:
            assert mine.fault is not None
            raise mine.fault
        return mine.permit

    def _serve(self) -> None:
        """Give permits to the requests that wait, as far as possible; the caller holds the lock."""
        while self._queue:
            one = self._queue[0]
            try:
                one.permit = self._grant(one.asked)
                if one.permit is None:
                    return
            except Fault as fault:
                one.fault = fault
            self._queue.popleft()
            try:
                one.loop.call_soon_threadsafe(_wake, one.future)
            except RuntimeError:  # the event loop of the request is closed
                if one.permit is not None:
                    self._take_back(one.permit)


def _wake(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
