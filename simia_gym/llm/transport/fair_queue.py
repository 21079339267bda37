"""The queue behind limits and budgets: requests of any thread and event loop wait for a permit."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections import deque
from concurrent.futures import Future
from typing import Generic, TypeVar

from simia_gym.errors import Fault
from simia_gym.llm.transport.forks import ForkSafe

Asked = TypeVar("Asked")
Permit = TypeVar("Permit")


class FairQueue(ForkSafe, ABC, Generic[Asked, Permit]):
    """Gives permits first come, first served. Subclasses say what a permit is; `_lock` guards what they count."""

    def __init__(self) -> None:
        super().__init__()
        self._queue: deque[tuple[Asked, asyncio.AbstractEventLoop, Future[Permit]]] = deque()

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
            future: Future[Permit] = Future()
            future.set_running_or_notify_cancel()  # a cancelled wait does not cancel it: it may have got a permit
            mine = (asked, asyncio.get_running_loop(), future)
            self._queue.append(mine)
        try:
            return await asyncio.wrap_future(future)
        except BaseException:
            with self._lock:
                if mine in self._queue:
                    self._queue.remove(mine)
                elif future.done() and future.exception() is None:
                    self._take_back(future.result())
                self._serve()
            raise

    def _serve(self) -> None:
        """Give permits to the requests that wait, as far as possible; the caller holds the lock."""
        while self._queue:
            asked, loop, future = self._queue[0]
            if not loop.is_closed():
                try:
                    permit = self._grant(asked)
                except Fault as fault:
                    future.set_exception(fault)
                else:
                    if permit is None:
                        return
                    future.set_result(permit)
            self._queue.popleft()
