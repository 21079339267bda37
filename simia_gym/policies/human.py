"""The policy that asks a person in a terminal: it shows the conversation as it comes, and reads what is typed."""

from __future__ import annotations

import asyncio
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from rich.text import Text

from simia_gym.actions.signatures import compact_block, function_of
from simia_gym.actions.typed import begins_call, read_typed
from simia_gym.common.output import SafeConsole
from simia_gym.errors import ActionError, InputError
from simia_gym.policies.base import PolicyStart
from simia_gym.types import Message, Say

_STYLES = {"user": "green", "tool": "yellow", "error": "red"}
_BLOCK = '"""'
_HELP = """\
Type a message, a call (NAME KEY=VALUE ..., or {"name": "NAME", "arguments": {...}}), or what `? system` asks for.
  ?          this, and the tools        ? NAME     a tool with its arguments
  ? system   what an agent is told      say TEXT   a message, also where it looks like a call
  \"\"\"        begins and ends a text of several lines
  quit       ends without a result, as Ctrl-D does"""


class HumanPolicy:
    """Asks a person for every action. A typing mistake is told and asked again; it is no action.

    The conversation goes to standard error, so that what a command prints at its end stands alone in standard output.

    Raises:
        KeyboardInterrupt: From `act`: the person has ended the run.
    """

    whole_transcript = True

    def __init__(self) -> None:
        self._console = SafeConsole(stderr=True, highlight=False, emoji=False)
        self._start: PolicyStart | None = None
        self._seen = 0
        self._system = ""

    def start(self, start: PolicyStart) -> None:
        """Begin an episode: say how to play it."""
        self._start, self._seen = start, 0
        several = " An action may have several lines; an empty line ends it." if self._several else ""
        self._say(f"\n{start.env}: you are the agent. `?` helps, `quit` ends.{several}", "bold")

    def act(self, messages: Sequence[Message]) -> str:
        """Show what is new, and ask for the next action until there is one."""
        if self._start is None:
            raise InputError("nobody has begun an episode", fix="Call start(PolicyStart(...)) first.")
        for message in messages[self._seen :]:
            self._show(message)
        self._seen = len(messages)
        while True:
            try:
                with _interruptible():
                    line = self._line("> ")
                    if line.strip() == "quit":
                        raise EOFError
                    action = self._action(line)
            except EOFError:
                raise KeyboardInterrupt from None
            except ActionError as error:
                self._say(f"not done: {error.message}", _STYLES["error"])
                continue
            except InputError as error:
                self._say(f"not done: {error}", _STYLES["error"])
                continue
            if action is not None:
                return action

    @property
    def _several(self) -> bool:
        """Whether actions of this grammar may have several lines."""
        start = self._start
        return start is not None and start.grammar.name != "tools" and any("\n" in one for one in start.samples)

    def _action(self, line: str) -> str | None:
        """The action that begins with a line; ``None`` if the line asks for help, or is empty.

        Raises:
            ActionError: The grammar cannot read it.
            InputError: It is a call that does not fit.
            EOFError: The input ends.
        """
        assert self._start is not None
        start, typed = self._start, line.strip()
        if not typed:
            return None
        if typed.startswith("?"):
            self._help(typed[1:].strip())
            return None
        if typed.startswith("say "):
            return start.grammar.render(Say(typed[4:].strip()))
        if typed == _BLOCK:
            return read_typed("\n".join(iter(lambda: self._line("  "), _BLOCK)), start.grammar, start.tools)
        text, empty = line, False
        while True:
            try:
                action = read_typed(text, start.grammar, start.tools)
                if not self._several or empty or action != text:
                    return action
            except ActionError:
                if begins_call(typed) or empty:
                    raise
            more = self._line("  ")
            # An empty line ends what is an action; in one that is not whole yet it stands, and a second one ends it.
            empty = not more.strip() and (not self._several or _whole(text, start) or text.endswith("\n"))
            text = text if empty else f"{text}\n{more}"

    def _help(self, about: str) -> None:
        assert self._start is not None
        tools = {str(function_of(tool)["name"]): tool for tool in self._start.tools}
        if about == "system":
            self._say(self._system)
        elif about in tools:
            self._say(f"{compact_block([tools[about]])}\n{function_of(tools[about]).get('description', '')}")
        elif about:
            raise InputError(f"there is no tool {about!r}", fix="`?` lists the tools.")
        else:
            self._say(f"{_HELP}\ntools: {', '.join(tools)}")

    def _show(self, message: Message) -> None:
        role, content = message["role"], message.get("content") or ""
        if role == "system":
            self._system = content
        elif role != "assistant":
            name = message.get("name") or ("tool" if role == "tool" else "user")
            speaker = "env" if name == "user" and self._start is not None and self._start.replies != "user" else name
            style = _STYLES["error"] if "error_code" in message else _STYLES.get(role, "")
            self._console.print(Text.assemble((f"{speaker}: ", f"bold {style}"), content), soft_wrap=True)

    def _say(self, text: str, style: str = "") -> None:
        self._console.print(Text(text, style=style), soft_wrap=True)

    def _line(self, prompt: str) -> str:
        """A line of the input.

        Raises:
            EOFError: There is none any more.
        """
        if sys.stdin.isatty() and sys.stdout.isatty():
            with suppress(ImportError):
                import readline  # noqa: F401 - lets a line be edited
            return input(prompt)
        sys.stderr.write(prompt)
        sys.stderr.flush()
        line = sys.stdin.readline()
        if not line:
            raise EOFError
        return line.rstrip("\r\n")


def _whole(text: str, start: PolicyStart) -> bool:
    try:
        read_typed(text, start.grammar, start.tools)
    except ActionError:
        return False
    return True


@contextmanager
def _interruptible() -> Iterator[None]:
    """Let Ctrl-C end the wait for a person at once; a run would wait for the policy to return."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        if _cancelled():  # Ctrl-C came while nobody was asked
            raise KeyboardInterrupt
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _cancelled() -> bool:
    """Whether the run is about to end; it waits for the policy to return."""
    try:
        return any(task.cancelling() for task in asyncio.all_tasks())
    except RuntimeError:
        return False
