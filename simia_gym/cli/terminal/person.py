"""What a person who plays sees beside the conversation: no progress bar, and at the end how it went."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.text import Text

from simia_gym.cli.terminal.progress import Display
from simia_gym.record.explain import report
from simia_gym.record.records import Record


class PersonDisplay(Display):
    """Shows the last answers and the verdict of each episode; the policy `human` shows all before."""

    @contextmanager
    def progress(self, total: int) -> Iterator[None]:
        """Show nothing while a person types."""
        yield

    def done(self, record: Record) -> None:
        """Show what came after the last action, and the verdict."""
        last = max((number for number, event in enumerate(record.events) if event["type"] == "action"), default=-1)
        for event in record.events[last + 1 :]:
            if event["type"] == "transition":
                self._output.console.print(Text(f"{event['speaker']}: {event['observation']}"), soft_wrap=True)
        self._output.say(f"\nended by {record.ended}\n{report(record.verdict)}")
