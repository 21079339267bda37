"""Pinned answers: in the episodes of one group the same call in the same state has the same answer.

Whoever asks first asks the model; the others wait for that answer (single-flight) and get it too. Where asking fails,
the next one tries. What is pinned is JSON, and the key says everything that it may depend on, so a store need know
nothing of simulators.
"""

from __future__ import annotations

import asyncio
import sqlite3
import threading
import time
import uuid
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Protocol, TypeAlias

from simia_gym.common.json_encoding import decode, encode
from simia_gym.errors import Fault, InputError
from simia_gym.llm.transport.forks import fresh_after_fork
from simia_gym.types import JsonObject

Make: TypeAlias = Callable[[], Awaitable[JsonObject]]


class PinStore(Protocol):
    """Where pinned answers lie."""

    async def answer(self, key: str, make: Make) -> tuple[JsonObject, bool]:
        """Give the answer of a key, making it where there is none.

        Args:
            key: Names everything that the answer depends on.
            make: Makes the answer; called by at most one asker at a time.

        Returns:
            The answer, and whether somebody else made it.

        Raises:
            Exception: What ``make`` raised, for the asker that called it alone.
        """
        ...


class MemoryPins:
    """Pinned answers of one process; safe for several threads and event loops.

    Args:
        capacity: Most answers that are kept; those that were not asked for longest go first.

    Attributes:
        made: How many answers were made.
        shared: How many times an answer was given that somebody else had made.
    """

    def __init__(self, capacity: int = 50_000) -> None:
        if capacity < 1:
            raise InputError(f"capacity is {capacity}", where="pins", fix="Use 1 or more.")
        self._capacity = capacity
        self._lock = threading.Lock()
        self._answers: OrderedDict[str, JsonObject] = OrderedDict()
        # What is being made, with what the others wait for; nobody waits for most of it, and a future is dear.
        self._flights: dict[str, Future[None] | None] = {}
        self.made = self.shared = 0
        fresh_after_fork(self)

    def __len__(self) -> int:
        return len(self._answers)

    def clear(self) -> None:
        """Forget all answers."""
        with self._lock:
            self._answers.clear()

    async def answer(self, key: str, make: Make) -> tuple[JsonObject, bool]:
        """Give the answer of a key, making it where there is none; see `PinStore.answer`."""
        flights: dict[str, Future[None] | None] | None = None
        while flights is None:
            with self._lock:
                held = self._answers.get(key)
                if held is not None:
                    self._answers.move_to_end(key)
                    self.shared += 1
                    return held, True
                if key not in self._flights:
                    flights = self._flights
                    flights[key] = None
                    break
                flight = self._flights[key]
                if flight is None:
                    flight = self._flights[key] = Future()
                    flight.set_running_or_notify_cancel()  # so that one who is tired of waiting cannot cancel it
            await asyncio.wrap_future(flight)
        made: JsonObject | None = None
        try:
            made = await make()
        finally:
            with self._lock:
                if made is not None:
                    self._answers[key] = made
                    self.made += 1
                    while len(self._answers) > self._capacity:
                        self._answers.popitem(last=False)
                waited = flights.pop(key, None)
            if waited is not None:
                waited.set_result(None)
        return made, False

    def after_fork(self) -> None:
        """In a forked process: nobody here is making the answers that the parent was making."""
        self._lock = threading.Lock()
        self._flights = {}


_LEASE = 30.0
"""Seconds after which a claim that was not renewed is void: its process has died."""

_SCHEMA = "CREATE TABLE IF NOT EXISTS pins (key TEXT PRIMARY KEY, answer BLOB, owner TEXT, expires REAL) WITHOUT ROWID"
_CLAIM = (
    "INSERT INTO pins (key, owner, expires) VALUES (?, ?, ?) "
    "ON CONFLICT (key) DO UPDATE SET owner = excluded.owner, expires = excluded.expires "
    "WHERE pins.answer IS NULL AND pins.expires < ?"
)


class SqlitePins:
    """Pinned answers in a file that several processes of one machine share.

    Args:
        path: The SQLite file; made where there is none.
        lease: Seconds after which the claim of a process that has died is void.

    Raises:
        InputError: The file cannot be opened, or is none of SQLite's.
    """

    def __init__(self, path: Path | str, *, lease: float = _LEASE) -> None:
        self.path = Path(path)
        self._lease = lease
        self._near = MemoryPins()
        self._lock = threading.Lock()
        self._link: sqlite3.Connection | None = None
        self._parents: list[sqlite3.Connection] = []
        fresh_after_fork(self)
        try:
            self._run("SELECT 1")
        except Fault as fault:
            raise InputError(fault.message, where=str(self.path), fix="Give another file for the pins.") from fault

    async def answer(self, key: str, make: Make) -> tuple[JsonObject, bool]:
        """Give the answer of a key, making it where there is none; see `PinStore.answer`."""
        elsewhere = False

        async def across() -> JsonObject:
            nonlocal elsewhere
            made, elsewhere = await self._across(key, make)
            return made

        found, shared = await self._near.answer(key, across)
        return found, shared or elsewhere

    async def _across(self, key: str, make: Make) -> tuple[JsonObject, bool]:
        """The same among processes: claim the key and make the answer, or wait for whoever has claimed it."""
        owner, pause = uuid.uuid4().hex, 0.01
        while not self._claimed(key, owner):
            rows, _ = self._run("SELECT answer FROM pins WHERE key = ?", key)
            if rows and rows[0][0] is not None:
                found: JsonObject = decode(rows[0][0])
                return found, True
            await asyncio.sleep(pause)
            pause = min(0.25, pause * 1.5)
        renewing = asyncio.ensure_future(self._renew(key, owner))
        try:
            made = await make()
        except BaseException:
            self._run("DELETE FROM pins WHERE key = ? AND owner = ? AND answer IS NULL", key, owner)
            raise
        finally:
            renewing.cancel()
        self._run("UPDATE pins SET answer = ? WHERE key = ? AND owner = ? AND answer IS NULL", encode(made), key, owner)
        ((answer,),), _ = self._run("SELECT answer FROM pins WHERE key = ?", key)
        if answer is None:
            return made, False  # the claim went to another one, who is not ready yet
        stored: JsonObject = decode(answer)
        return stored, stored != made

    def _claimed(self, key: str, owner: str) -> bool:
        now = time.time()
        return self._run(_CLAIM, key, owner, now + self._lease, now)[1] == 1

    async def _renew(self, key: str, owner: str) -> None:
        while True:
            await asyncio.sleep(self._lease / 3)
            self._run("UPDATE pins SET expires = ? WHERE key = ? AND owner = ?", time.time() + self._lease, key, owner)

    def _run(self, sql: str, *values: object) -> tuple[list[tuple[bytes | None]], int]:
        """Run one statement; give its rows and how many it changed."""
        with self._lock:
            try:
                if self._link is None:
                    self._link = self._connect()
                cursor = self._link.execute(sql, values)
                return cursor.fetchall(), cursor.rowcount
            except sqlite3.Error as error:
                message = f"the file of pinned answers cannot be used: {error}"
                raise Fault("pin_store", message, role="simulator") from error

    def _connect(self) -> sqlite3.Connection:
        link = sqlite3.connect(self.path, timeout=30.0, isolation_level=None, check_same_thread=False)
        try:
            link.execute("PRAGMA journal_mode = WAL")
            link.execute("PRAGMA synchronous = NORMAL")
            link.execute(_SCHEMA)
        except BaseException:
            link.close()
            raise
        return link

    def close(self) -> None:
        """Close the file; it is opened again when it is needed."""
        with self._lock:
            if self._link is not None:
                self._link.close()
            self._link = None

    def after_fork(self) -> None:
        """In a forked process: open the file anew; the parent's connection is kept, and neither used nor closed."""
        self._lock = threading.Lock()
        if self._link is not None:
            self._parents.append(self._link)
            self._link = None

    def __getstate__(self) -> JsonObject:
        """What travels to another process: where the file is."""
        return {"path": str(self.path), "lease": self._lease}

    def __setstate__(self, state: JsonObject) -> None:
        """Open the same file in another process."""
        self.__init__(state["path"], lease=state["lease"])  # type: ignore[misc]
