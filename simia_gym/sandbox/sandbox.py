"""A sandbox: a tree of files, and commands that run in it."""

from __future__ import annotations

import os
import socket
import weakref
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from simia_gym.errors import Fault, InputError
from simia_gym.sandbox.entries import Entry, Tree, folder, in_order, pack, problem, receive, send, taken, unpack
from simia_gym.sandbox.keeping import Keeper
from simia_gym.sandbox.limits import Limits, check_roots
from simia_gym.sandbox.shell import Shell, kept, prologue

ROOTS = ("/home", "/root", "/srv", "/tmp", "/var")
LONGEST_SCRIPT = 131_071  # bytes, what the kernel takes as one argument
_STICKY = {"/tmp", "/var/tmp"}
_PATIENCE = 30.0  # seconds beyond a command's own, for a busy machine
Stopped = Literal["", "time", "output", "disk"]


@dataclass(frozen=True, slots=True)
class Result:
    """What a command did.

    Attributes:
        code: Its exit code: 128 and the signal's number if a signal ended it, 124 or 137 if a limit stopped it.
        output: What it wrote to its standard output and its standard error, in the order in which it came.
        shell: What its shell keeps.
        stopped: The limit that stopped it (``time``, ``output``, or ``disk`` for a tree that cannot be kept), or
            nothing. Such a command has changed neither the tree nor what the shell keeps.
        changed: Whether the tree may differ from what it was before. A tree of equal entries counts as changed if
            something was written.
    """

    code: int
    output: bytes
    shell: Shell
    stopped: Stopped
    changed: bool


class Sandbox:
    """A sandbox of its own processes, file system and network, in which nothing outlives a command but files.

    A sandbox is used by one thread at a time; several may work side by side.

    Args:
        limits: What commands may use.
        roots: The folders that can be written. They stand on one memory disk.
        way: How a user namespace is made, a name of `WAYS`; by default the first that works here.

    Raises:
        SandboxUnavailable: No sandbox can be made on this machine.
        Fault: None could be made now.
    """

    def __init__(self, limits: Limits | None = None, roots: Sequence[str] = ROOTS, way: str | None = None) -> None:
        from simia_gym.sandbox.trial import working_way  # it makes sandboxes itself

        self.limits, self.roots = limits or Limits(), tuple(roots)
        check_roots(self.roots)
        self._end = _begin(self.limits, self.roots, way or working_way())
        self._close = weakref.finalize(self, self._end.close)
        self._tree: dict[str, Entry] | None = None
        self._as_laid = False
        try:
            self.put({})
        except BaseException:
            self.close()
            raise

    def run(self, script: str, shell: Shell, seed: int = 0) -> Result:
        """Run a script of bash.

        Args:
            script: The script, of at most 131,071 bytes.
            shell: What the shell has kept from earlier commands; `new_shell` to begin with.
            seed: Where ``$RANDOM`` begins.

        Raises:
            InputError: The script is too long or holds NUL.
            Fault: The sandbox has ended. It cannot be used any more.
        """
        code = os.fsencode(script) if script.isascii() else script.encode("utf-8", "surrogateescape")
        if len(code) > LONGEST_SCRIPT or b"\0" in code:
            what = f"a script has at most {LONGEST_SCRIPT:,} bytes, and no NUL"
            raise InputError(what, fix="Write it to a file first.")
        before = self._known()
        order = {"do": "run", "script": len(code)}
        told, data = self._ask(order, code + prologue(shell, seed), self.limits.time + _PATIENCE)
        output, book = data[: told["output"]], data[told["output"] :]
        if told["stopped"]:
            self._lay_out(before)
            return Result(told["code"], output, shell, told["stopped"], changed=False)
        if told["changed"]:
            self._tree, self._as_laid = None, False
        return Result(told["code"], output, kept(book, shell), "", told["changed"])

    def put(self, tree: Tree) -> None:
        """Replace everything below the roots by a tree. Roots that it does not name are empty.

        Nothing is done if the tree stands there already as it was put.

        Raises:
            InputError: The tree lies outside of the roots, is too large, or has an entry in no directory.
            Fault: The sandbox has ended.
        """
        if self.holds(tree):
            return
        whole = self._with_roots(tree)
        wrong = problem(whole, self.roots)
        pages = sum(taken(e.kind, len(os.fsencode(e.target)) or len(e.data)) for e in whole.values())
        if wrong is None and (pages > self.limits.disk or len(whole) > self.limits.inodes):
            wrong = f"a tree of {len(whole):,} entries and {pages:,} bytes in pages of memory is beyond the limits"
        if wrong is not None:
            raise InputError(wrong)
        self._lay_out(whole)

    def holds(self, tree: Tree) -> bool:
        """Whether a tree stands there as it was put, so that to put it again would do nothing."""
        return self._as_laid and not self.closed and self._tree == self._with_roots(tree)

    def tree(self) -> Tree:
        """Everything below the roots, and the roots themselves, in the order of their paths' bytes."""
        return self._known()

    @property
    def closed(self) -> bool:
        """Whether it has ended, by `close` or by a fault."""
        return not self._close.alive

    def close(self) -> None:
        """End every process of the sandbox, and forget its files."""
        self._close()

    def __enter__(self) -> Sandbox:
        """Use it in a ``with`` statement."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()

    def _with_roots(self, tree: Tree) -> dict[str, Entry]:
        bare = {root: folder(0o1777 if root in _STICKY else 0o755) for root in self.roots}
        return in_order({**bare, **tree})

    def _known(self) -> dict[str, Entry]:
        if self._tree is None:
            told, data = self._ask({"do": "tree"}, b"", _PATIENCE)
            self._tree = in_order(unpack(told["tree"], data))
        return self._tree

    def _lay_out(self, tree: dict[str, Entry]) -> None:
        listed, data = pack(tree)
        self._ask({"do": "put", "tree": listed}, data, _PATIENCE)
        self._tree, self._as_laid = tree, True

    def _ask(self, order: dict[str, Any], data: bytes, seconds: float) -> tuple[dict[str, Any], bytes]:
        try:
            self._end.settimeout(seconds)
            send(self._end, order, data)
            told, found = receive(self._end)
        except BaseException as error:
            self.close()  # an answer that comes later would be taken for that of the next order
            if not isinstance(error, EOFError | OSError):
                raise
            said = str(error) or "its first process is gone"
            raise Fault("sandbox", f"the sandbox has ended: {said}", "world") from error
        if "error" in told:
            self.close()
            raise Fault("sandbox", f"the sandbox has ended: {told['error']}", "world")
        return told, found


def _begin(limits: Limits, roots: Sequence[str], way: str) -> socket.socket:
    """The socket to a new sandbox that is ready."""
    wanted = {"limits": asdict(limits), "roots": list(roots), "way": way}
    for last in (False, True):
        keeper = Keeper.current()
        try:
            end = keeper.ask(wanted)
            try:
                end.settimeout(_PATIENCE)
                told, _ = receive(end)
            except BaseException:
                end.close()
                raise
        except (EOFError, OSError) as error:
            if last or not keeper.ends():
                what = str(error) or "it ended at once"
                raise Fault("sandbox", f"no sandbox was made: {what}", "world") from error
        else:
            if "error" not in told:
                return end
            end.close()
            raise Fault("sandbox", f"no sandbox was made: {told['error']}", "world")
    raise AssertionError
