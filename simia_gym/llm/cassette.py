"""Cassettes: files of recorded model replies, replayed strictly.

A cassette holds one JSON line per finished request. The key of a line is a hash of the request (messages, reply schema,
seed, further fields, model name), the episode's scope, the role and the request's ordinal, so the order of lines and
the timing of a run do not matter. A cassette contains no addresses, API keys or times.

For the environment's own roles, equal requests have one recorded reply, whichever episode sends the request first. A
policy may be sampled several times with the same request: its samples are numbered. Two equal policy requests at the
same time are refused, because their numbers would depend on timing.
"""

from __future__ import annotations

import asyncio
import os
import weakref
from collections import Counter
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import IO, Any, Literal

from simia_gym.common.files import check_regular
from simia_gym.common.json_encoding import decode, encode
from simia_gym.common.locks import take_lock
from simia_gym.common.writing import RESERVE, append, check_room
from simia_gym.errors import Fault, InputError, StorageError
from simia_gym.llm.structured import read_reply
from simia_gym.llm.transport.forks import ForkSafe
from simia_gym.llm.types import ChatModel, ChatRequest, Reply, Unread, Usage
from simia_gym.types import JsonObject

Mode = Literal["record", "replay"]
_VERSION = 1


class Cassette(ForkSafe):
    """A file of recorded replies; safe to use from several threads and event loops of one process.

    Args:
        path: The file.
        mode: ``record`` sends requests to the model and records the replies; ``replay`` answers from the file only.
        resume: Continue an existing file: recorded replies are reused; requests whose line is a fault or was cut off
            are sent again.

    Raises:
        InputError: The file exists (``record`` without `resume`), does not exist (``replay``), or is damaged.
    """

    def __init__(self, path: Path | str, mode: Mode, *, resume: bool = False) -> None:
        if mode not in ("record", "replay"):
            raise InputError(f"there is no mode {mode!r}", where="cassette", fix="Modes: record, replay.")
        super().__init__()
        self.path, self.mode = Path(path), mode
        self._lines: dict[str, JsonObject] = {}
        self._takes: Counter[str] = Counter()
        self._file: IO[bytes] | None = None
        self._full: StorageError | None = None
        if mode == "replay":
            check_regular(self.path)
            if not self.path.is_file():
                raise InputError("there is no such file", where=str(path), fix="Record the cassette first.")
            self._read(torn_allowed=False)
        else:
            self._open(resume)

    def wrap(self, model: ChatModel | None, role: str, *, name: str | None = None) -> ChatModel:
        """Put the cassette between a role and its model; the result records or replays.

        Args:
            model: The model to record; may be ``None`` in replay.
            role: The role, or another name under which its replies are recorded.
            name: The model's name; default the ``name`` of `model`.

        Raises:
            InputError: There is no model to record.
        """
        if model is None and self.mode == "record":
            raise InputError(f"the {role} has no model to record", where="cassette", fix="Configure its endpoint.")
        return _Wrapped(self, model, role, name or str(getattr(model, "name", "")))

    def check(self, role: str, name: str) -> None:
        """Check before a replay that the cassette holds replies of a role by the named model.

        Raises:
            InputError: All recorded replies of the role come from other models.
        """
        if self.mode != "replay":
            return
        names = sorted({str(line.get("model", "")) for line in self._lines.values() if line.get("role") == role})
        if names and name not in names:
            fix = f"Name {' or '.join(names)} as the {role}'s model."
            what = f"it holds answers of {' and '.join(names)} for the {role}, none of {name}"
            raise InputError(what, where=str(self.path), fix=fix)

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            if self._file is not None:
                self._file.close()
                self._file = None

    def __len__(self) -> int:
        return len(self._lines)

    def find(self, key: str) -> Mapping[str, Any] | None:
        """The line with a key; ``None`` if the request must be sent. A recorded fault only counts in replay."""
        with self._lock:
            line = self._lines.get(key)
        return None if line is not None and self.mode == "record" and "reply" not in line else line

    def take(self, key: str) -> int:
        """Number a sample of a policy: how often this process has sent the same request before."""
        with self._lock:
            number = self._takes[key]
            self._takes[key] += 1
            return number

    def keep(self, line: JsonObject) -> JsonObject:
        """Write a line and return it; if another thread has already written a reply for the key, return that line."""
        with self._lock:
            if self._file is None:
                raise InputError("the cassette is closed", where=str(self.path), fix="Open it again.")
            known = self._lines.get(line["key"])
            if known is not None and "reply" in known:
                return known
            try:
                append(self._file, encode(line) + b"\n")
            except StorageError as error:
                self._full = error
                raise
            self._lines[line["key"]] = line
            return line

    def check_room(self) -> None:
        """Check before a request is sent that its reply can be kept.

        Raises:
            StorageError: The disk is almost full, or an earlier reply could not be kept.
        """
        if self._full is not None:
            raise self._full
        check_room(self.path, RESERVE // 2)

    def _open(self, resume: bool) -> None:
        check_regular(self.path)
        try:
            file = self.path.open("ab" if resume else "xb", buffering=0)
        except FileExistsError:
            fix = "Give --resume (resume=True in Python) to continue it, or another file."
            raise InputError("the cassette exists already", where=str(self.path), fix=fix) from None
        try:
            # Lock before reading: reading removes an incomplete last line, which another process may still be writing.
            if not take_lock(file.fileno(), self.path):
                fix = "Wait for it, or give another file."
                raise InputError("another process is recording to it", where=str(self.path), fix=fix)
            self._read(torn_allowed=True)
        except BaseException:
            file.close()
            raise
        self._file = file
        weakref.finalize(self, file.close)

    def _read(self, *, torn_allowed: bool) -> None:
        data = self.path.read_bytes()
        whole = data.rfind(b"\n") + 1
        if whole < len(data):
            if not torn_allowed:
                fix = "Resume the recording, which redoes it."
                raise InputError("the last line is torn", where=str(self.path), fix=fix)
            os.truncate(self.path, whole)
        for number, text in enumerate(data[:whole].splitlines(), 1):
            where = f"{self.path}:{number}"
            line = _checked(text, where)
            known = self._lines.get(line["key"])
            if known is None or "fault" in known:
                self._lines[line["key"]] = line
            elif "reply" in line and line["reply"] != known["reply"]:
                fix = "Remove one of the two lines."
                raise InputError("the same request has another answer in an earlier line", where=where, fix=fix)


class _Wrapped:
    """A model whose replies are recorded in or replayed from a cassette."""

    def __init__(self, cassette: Cassette, model: ChatModel | None, role: str, name: str) -> None:
        self._cassette, self._model, self._role, self.name = cassette, model, role, name
        self._in_flight: dict[tuple[asyncio.AbstractEventLoop, str], asyncio.Future[None]] = {}

    async def complete(self, request: ChatRequest) -> Reply:
        """Replay a recorded reply, or send the request and record the reply.

        Raises:
            Fault: The recorded fault; or ``cassette_miss``: the cassette has no reply to this request.
        """
        key = self._key(request)
        spot = (asyncio.get_running_loop(), key)
        if self._role == "policy":
            if spot in self._in_flight:
                fix = "Give each of them a scope of its own."
                what = f"two requests {request.ordinal} of the {self._role} in scope {request.scope!r} are alike"
                raise InputError(what, where=str(self._cassette.path), fix=fix)
            key = f"{key}#{self._cassette.take(key)}"
        while (line := self._cassette.find(key)) is None:
            other = self._in_flight.get(spot)
            if other is None:
                return await self._ask(spot, request, key)
            # The same request is in flight: wait for its reply, and send it again if it fails.
            await asyncio.shield(other)
        return self._give(line, request)

    async def _ask(self, spot: tuple[asyncio.AbstractEventLoop, str], request: ChatRequest, key: str) -> Reply:
        if self._model is None or self._cassette.mode == "replay":
            message = (
                f"the cassette has no answer to request {request.ordinal} of the {self._role} in scope"
                f" {request.scope!r}: the prompt, the form, the seed or the model differs from what was recorded, or it"
                " was never asked"
            )
            raise Fault("cassette_miss", message, role=request.role)
        done = self._in_flight[spot] = spot[0].create_future()
        line: JsonObject = {
            "v": _VERSION,
            "key": key,
            "role": self._role,
            "scope": request.scope,
            "ordinal": request.ordinal,
            "model": self.name,
        }
        try:
            self._cassette.check_room()
            try:
                reply = await self._model.complete(request)
            except Fault as fault:
                # Record and cassette must hold the same message, and a cassette must not contain addresses.
                shown = Fault(fault.kind, self._without_address(fault.message), role=fault.role)
                shown.unread = tuple(
                    item._replace(problem=self._without_address(item.problem)) for item in fault.unread
                )
                kept = {"kind": shown.kind, "message": shown.message, "role": shown.role, **_unread_json(shown.unread)}
                self._cassette.keep({**line, "fault": kept})
                raise shown from None
            answer: JsonObject = {
                "raw": reply.raw,
                "message": dict(reply.message),
                "finish_reason": reply.finish_reason,
                "model": reply.model,
                "usage": reply.usage._asdict(),
                **_unread_json(reply.unread),
            }
            if reply.read is not None:
                answer["read"] = list(reply.read)
            stands = self._cassette.keep({**line, "reply": answer})
            return reply if stands.get("reply") is answer else self._give(stands, request)
        finally:
            del self._in_flight[spot]
            done.set_result(None)

    def _give(self, line: Mapping[str, Any], request: ChatRequest) -> Reply:
        fault = line.get("fault")
        if fault is not None:
            known = Fault(fault["kind"], fault["message"], role=fault["role"])
            known.unread = _unread_of(fault)
            raise known
        kept = {name: line["reply"][name] for name in _REPLY}
        reply = read_reply(request=request, read=line["reply"].get("read"), **{**kept, "usage": Usage(**kept["usage"])})
        unread = _unread_of(line["reply"])
        return reply._replace(unread=unread) if unread else reply

    def _key(self, request: ChatRequest) -> str:
        whole = sha256()
        for chunk in request.prompt.chunks:
            whole.update(chunk)
        reply = request.reply
        rest = [
            None if reply is None else [reply.name, reply.schema],
            request.seed,
            dict(request.body),
            self.name,
            request.scope,
            self._role,
            request.ordinal,
        ]
        whole.update(b"\0" + encode(rest))
        return whole.hexdigest()

    def _without_address(self, message: str) -> str:
        host = getattr(getattr(self._model, "endpoint", None), "host", "")
        return message.replace(host, "the endpoint") if host else message


def _unread_json(unread: Sequence[Unread]) -> JsonObject:
    """The replies before that could not be read, if there are any."""
    return {"unread": [{**item._asdict(), "usage": item.usage._asdict()} for item in unread]} if unread else {}


def _unread_of(line: Mapping[str, Any]) -> tuple[Unread, ...]:
    return tuple(Unread(**{**item, "usage": Usage(**item["usage"])}) for item in line.get("unread", ()))


_USAGE = {"prompt": int, "cached": int, "completion": int}
_REPLY = {"raw": str, "message": dict, "finish_reason": (str, type(None)), "model": str, "usage": _USAGE}
_UNREAD = {"text": str, "problem": str, "model": str, "usage": _USAGE}
_FAULT = {"kind": str, "message": str, "role": str}


def _checked(text: bytes, where: str) -> JsonObject:
    """Decode and validate one line of a cassette."""
    fix = "The file is damaged: record it anew."
    try:
        line = decode(text)
    except ValueError:
        raise InputError("the line is no JSON", where=where, fix=fix) from None
    good = _fits(line, {"key": str, "reply": _REPLY}) or _fits(line, {"key": str, "fault": _FAULT})
    if not good or not _earlier_fits(line.get("reply") or line["fault"]) or line.get("v") != _VERSION:
        raise InputError("the line is none of a cassette", where=where, fix=fix)
    return dict(line)


def _earlier_fits(kept: Mapping[str, Any]) -> bool:
    """Whether how a reply was read, and what could not be read before it, are as `_Wrapped` writes them."""
    read, unread = kept.get("read", []), kept.get("unread", [])
    if not isinstance(read, list) or not all(isinstance(name, str) for name in read) or not isinstance(unread, list):
        return False
    return all(_fits(item, _UNREAD) and item.keys() == _UNREAD.keys() for item in unread)


def _fits(value: Any, wanted: Any) -> bool:
    """Whether a value is of the wanted type, or an object whose fields are; token counts have no further fields."""
    if not isinstance(wanted, dict):
        return isinstance(value, wanted)
    if wanted is _USAGE and isinstance(value, dict) and value.keys() != _USAGE.keys():
        return False
    return isinstance(value, dict) and all(name in value and _fits(value[name], wanted[name]) for name in wanted)
