# ruff: noqa: D417 (a tool's docstring tells the policy about its arguments; the draft is none of them)
"""Commands in a sandbox, on real files that are made of the rows; what they change is read back."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import PurePosixPath

from simia_gym.domain.tools import tool
from simia_gym.domain.world import World
from simia_gym.envs.officebench.formats.folder import folders_of, store, written_office
from simia_gym.envs.officebench.formats.reading import EXTRA
from simia_gym.envs.officebench.paths import ROOT
from simia_gym.errors import InputError, SandboxUnavailable, ToolError
from simia_gym.sandbox import MASKS, Entry, Limits, Pool, Result, Tree, folder, in_thread, new_shell, working_way
from simia_gym.state import Draft

_TABLES = ("people", "files", "mails", "events", "folders", "originals", "contents")
_LONGEST = 10_000
_LIMITS = Limits(output=200_000)
_POOL = Pool(_LIMITS, roots=(ROOT, "/tmp"))
_STOPPED = {
    "time": f"It took more than {_LIMITS.time:g} seconds, and changed nothing.",
    "output": f"It wrote more than {_LIMITS.output:,} bytes, and changed nothing.",
    "disk": "It left more than the disk holds, and changed nothing.",
}


def shell_problem() -> str | None:
    """Why there can be no shell here; ``None`` if there can be one."""
    missing = [name for name in ("docx", "icalendar", "lxml", "openpyxl", "pypdf") if find_spec(name) is None]
    if missing:
        return f"real files need the extra office, which lacks {', '.join(missing)}: {EXTRA}"
    try:
        working_way()
    except SandboxUnavailable as error:
        return str(error)
    return None


class Shell(World):
    """See the module."""

    @tool(
        effect="write",
        reads=("desk/main", *_TABLES),
        writes=tuple(f"{table}/*" for table in _TABLES),
        route="world",
        masks=MASKS,
        limits={"value": 64_000_000, "operations": 10_000},
    )
    async def shell_command(self, db: Draft, command: str) -> str:
        """Run a command of bash. It begins in /testbed, the folder of data, emails and calendar.

        Args:
            command: The command.
        """
        failed = f"Failed to execute command: {command[:200]}"
        before = written_office(db.state)
        try:
            done, after = await in_thread(_run, before, folders_of(db.state), command)
        except InputError as error:
            raise ToolError(failed, "bad_command", str(error)) from None
        if done.stopped:
            raise ToolError(failed, "stopped", _STOPPED[done.stopped])
        if done.changed:
            files = {path: entry.data for path, entry in after.items() if entry.kind == "file"}
            store(db, before, files, [path for path, entry in after.items() if entry.kind == "dir"])
        text = done.output.decode("utf-8", "replace").strip("\n")
        if len(text) > _LONGEST:
            text = f"{text[:_LONGEST]}\n[{len(text) - _LONGEST:,} more characters]"
        if done.code:
            return f"The command ended with code {done.code}.\n{text}"
        return text or f"Successfully executed command: {command}. The output was []."


def _run(files: dict[str, bytes], folders: list[str], command: str) -> tuple[Result, Tree]:
    """Run a command on files; gives what it did, and what lies in the office afterwards."""
    tree = {path: Entry("file", data=data) for path, data in files.items()}
    above = {str(place) for path in (*files, *folders) for place in PurePosixPath(path).parents}
    tree |= {path: folder() for path in (*folders, *above) if path.startswith(ROOT)}
    sandbox = _POOL.take(tree)
    try:
        done = sandbox.run(command, new_shell(ROOT))
        return done, {path: entry for path, entry in sandbox.tree().items() if path.startswith(f"{ROOT}/")}
    finally:
        _POOL.give(sandbox)
