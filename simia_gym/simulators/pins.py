"""Pinned answers: in the episodes of a group, the same tool call in the same state gets the same answer.

The first episode that needs an answer asks the model; the others wait for that answer (single-flight) and share it. If
the request fails, the next episode asks. Answers are JSON, and the key covers everything that they depend on, so a
store is independent of simulators.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import time
import uuid
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from simia_gym.common.files import check_regular
from simia_gym.common.json_encoding import decode, encode, hash_of
from simia_gym.errors import Fault, InputError, StorageError
from simia_gym.llm.transport.forks import ForkSafe
from simia_gym.types import JsonObject

logger = logging.getLogger("simia_gym")
Make: TypeAlias = Callable[[], Awaitable[JsonObject]]


class PinStore(Protocol):
    """A store of pinned answers."""

    async def answer(self, key: str, make: Make) -> tuple[JsonObject, bool]:
        """Return the answer of a key; make it if there is none.

        Args:
            key: Hash of everything that the answer depends on.
            make: Makes the answer; for one key, at most one call runs at a time.

        Returns:
            The answer, and whether another caller made it.

        Raises:
            Exception: The exception of this caller's own ``make``; other callers do not get it.
        """
        ...


class MemoryPins(ForkSafe):
    """Pinned answers of one process; safe for several threads and event loops.

    Args:
        capacity: Maximum number of answers; the least recently used are dropped first.
    """

    def __init__(self, capacity: int = 50_000) -> None:
        super().__init__()
        self._capacity = capacity
        self._answers: OrderedDict[str, JsonObject] = OrderedDict()
        self._flights: dict[str, Future[None]] = {}  # the keys being made
        self.made = 0

    def clear(self) -> None:
        """Remove all answers."""
        with self._lock:
            self._answers.clear()

    async def answer(self, key: str, make: Make) -> tuple[JsonObject, bool]:
        """Return the answer of a key; make it if there is none. See `PinStore.answer`."""
        while True:
            with self._lock:
                held = self._answers.get(key)
                if held is not None:
                    self._answers.move_to_end(key)
                    return held, True
                flights = self._flights
                flight = flights.get(key)
                if flight is None:
                    flight = flights[key] = Future()
                    flight.set_running_or_notify_cancel()  # so that a cancelled waiter cannot cancel it
                    break
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
                flights.pop(key, None)
            flight.set_result(None)
        return made, False

    def after_fork(self) -> None:
        """In a forked process, forget the requests in flight: they belong to the parent."""
        self._flights = {}


class SharedPins(ForkSafe, ABC):
    """Pinned answers that several processes share; each process keeps what it has got, and asks once for each key."""

    def __init__(self) -> None:
        super().__init__()
        self._near = MemoryPins()

    async def answer(self, key: str, make: Make) -> tuple[JsonObject, bool]:
        """Return the answer of a key; make it if there is none. See `PinStore.answer`."""
        elsewhere = False

        async def across() -> JsonObject:
            nonlocal elsewhere
            made, elsewhere = await self._across(key, make)
            return made

        found, shared = await self._near.answer(key, across)
        return found, shared or elsewhere

    @abstractmethod
    async def _across(self, key: str, make: Make) -> tuple[JsonObject, bool]:
        """Like `answer`, between processes."""


_LEASE = 30.0
"""Seconds without a sign of life after which a claim has expired, because its process has died."""

_PATIENCE = 30.0
"""Seconds to wait for other processes that write to the file."""

_FOR_GOOD = frozenset({sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
"""Errors after which no further answer can be pinned."""

_SEAL = 16
"""Bytes before an answer in the file: the beginning of its hash."""
_SCHEMA = "CREATE TABLE IF NOT EXISTS pins (key TEXT PRIMARY KEY, answer BLOB, owner TEXT, expires REAL) WITHOUT ROWID"
_CLAIM = "INSERT INTO pins (key, owner, expires) VALUES (?, ?, 0) ON CONFLICT (key) DO NOTHING"
_TAKE_OVER = "UPDATE pins SET owner = ?, expires = 0 WHERE key = ? AND answer IS NULL AND owner IS ? AND expires IS ?"
_RENEW = "UPDATE pins SET expires = expires + 1 WHERE key = ? AND owner = ?"
"""``expires`` counts signs of life. Whoever waits measures with its own clock how long none has come, so that neither a
clock that is set nor a machine that starts again lets a claim expire too early, or never."""


class SqlitePins(SharedPins):
    """Pinned answers in a file that several processes of one machine share.

    Args:
        path: The SQLite file; created if it does not exist.
        lease: Seconds without a sign of life after which a claim of another process counts as that of a dead one.

    Raises:
        InputError: The file cannot be opened, or is not an SQLite file.
    """

    def __init__(self, path: Path | str, *, lease: float = _LEASE) -> None:
        super().__init__()
        self.path = Path(path)
        check_regular(self.path, "Give another file for the pins.")
        self._lease = lease
        self._link: sqlite3.Connection | None = None
        self._parents: list[sqlite3.Connection] = []
        try:
            self._run("SELECT 1")
        except Fault as fault:
            raise InputError(fault.message, where=str(self.path), fix="Give another file for the pins.") from fault

    async def _across(self, key: str, make: Make) -> tuple[JsonObject, bool]:
        """Share an answer between processes: claim the key and make the answer, or wait for the claim's owner."""
        owner, pause = uuid.uuid4().hex, 0.01
        seen, since = None, 0.0
        while self._run(_CLAIM, key, owner)[1] != 1:
            rows, _ = self._run("SELECT answer, owner, expires FROM pins WHERE key = ?", key)
            answer, *life = rows[0] if rows else (None, None, None)
            if answer is not None and (found := self._read(key, answer)) is not None:
                return found, True
            if life != seen:
                seen, since = life, time.monotonic()
            elif time.monotonic() - since > self._lease and self._run(_TAKE_OVER, owner, key, *life)[1] == 1:
                break
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
        keep = "UPDATE pins SET answer = ? WHERE key = ? AND owner = ? AND answer IS NULL"
        try:
            data = encode(made)
            self._run(keep, _seal(data) + data, key, owner)
            rows, _ = self._run("SELECT answer FROM pins WHERE key = ?", key)
        except StorageError:
            return made, False  # it was paid for, so it counts; the next claim ends the run
        answer = rows[0][0] if rows else None
        if answer is None:
            return made, False  # another process has taken over the expired claim
        stored = self._read(key, answer)
        return (made, False) if stored is None else (stored, stored != made)

    def _read(self, key: str, answer: Any) -> JsonObject | None:
        """A stored answer; ``None`` if the row is damaged, which is then removed, so that the answer is made anew."""
        if isinstance(answer, bytes) and answer[:_SEAL] == _seal(answer[_SEAL:]):
            found: JsonObject = decode(answer[_SEAL:])
            return found
        logger.warning("%s: the pinned answer %s is damaged; it is asked anew", self.path, key)
        self._run("DELETE FROM pins WHERE key = ? AND answer IS ?", key, answer)
        return None

    async def _renew(self, key: str, owner: str) -> None:
        with suppress(StorageError, Fault):  # the answer's own end tells it
            while True:
                await asyncio.sleep(self._lease / 3)
                self._run(_RENEW, key, owner)

    def _run(self, sql: str, *values: object) -> tuple[list[tuple[Any, ...]], int]:
        """Run one SQL statement; return its rows and the number of changed rows."""
        with self._lock:
            try:
                if self._link is None:
                    self._link = self._connect()
                cursor = self._link.execute(sql, values)
                return cursor.fetchall(), cursor.rowcount
            except sqlite3.Error as error:
                message = f"the file of pinned answers cannot be used: {error}"
                if getattr(error, "sqlite_errorcode", 0) & 0xFF in _FOR_GOOD:
                    fix = "Make room, or give another file for the pins; then give --resume."
                    raise StorageError(message, where=str(self.path), fix=fix) from error
                raise Fault("pin_store", message, role="simulator") from error

    def _connect(self) -> sqlite3.Connection:
        link = sqlite3.connect(self.path, timeout=_PATIENCE, isolation_level=None, check_same_thread=False)
        try:
            _log_ahead(link)
            link.execute("PRAGMA synchronous = NORMAL")
            link.execute(_SCHEMA)
        except BaseException:
            link.close()
            raise
        return link

    def close(self) -> None:
        """Close the file; the next access opens it again."""
        with self._lock:
            if self._link is not None:
                self._link.close()
            self._link = None

    def after_fork(self) -> None:
        """In a forked process, open a new connection; the parent's is kept but neither used nor closed."""
        if self._link is not None:
            self._parents.append(self._link)
            self._link = None

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the path and the lease; another process opens the same file."""
        return partial(type(self), lease=self._lease), (str(self.path),)


def _seal(data: bytes) -> bytes:
    return hash_of(data)[:_SEAL].encode()


def _log_ahead(link: sqlite3.Connection) -> None:
    """Choose the write-ahead log; SQLite itself does not wait for other processes that do so at the same time."""
    until = time.monotonic() + _PATIENCE
    while True:
        try:
            link.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                raise
            time.sleep(0.01)
