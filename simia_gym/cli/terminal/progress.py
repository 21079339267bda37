"""Progress of a run: a progress bar in a terminal, else a log line every 30 seconds."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, Progress, ProgressColumn, Task, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Column
from rich.text import Text

from simia_gym.common.formatting import one_line, percent
from simia_gym.common.output import Output
from simia_gym.llm.accounts import accounts, in_short
from simia_gym.record.records import Record
from simia_gym.rollout.summary import Tally

LOG_EVERY = 30.0
"""Seconds between two log lines if the output is not a terminal."""
_REFRESHES = 2
"""Redraws of the progress bar per second."""
_WIDE, _NARROW = 110, 80
"""Widths in characters: from the first on, everything is shown; below the second, the models' usage is not shown."""
_NAME, _SHORT_NAME = 16, 10
_LEAST_BAR = 5


class _Spent(ProgressColumn):
    """The models' usage so far, updated also while episodes run."""

    def __init__(self, *, short: bool) -> None:
        super().__init__(Column(no_wrap=True))
        self._short, self._before = short, accounts().mark()

    def render(self, task: Task) -> Text:
        taken = accounts().snapshot(self._before)
        return Text(in_short(taken, short=self._short) if taken else "")


@contextmanager
def counting(output: Output, what: str) -> Iterator[Callable[[], None]]:
    """Show how many of something there are, with the usage of models, while the block runs.

    Args:
        output: Where to; not in a terminal it is a line every `LOG_EVERY` seconds.
        what: Their name in the plural.

    Yields:
        The function to call for each.
    """
    columns = (TextColumn("{task.completed:.0f} " + what), _Spent(short=True), TimeElapsedColumn(Column(no_wrap=True)))
    bar = Progress(*columns, console=output.console, refresh_per_second=_REFRESHES)
    task = bar.add_task(what, total=None)
    told, before = time.monotonic(), accounts().mark()
    number = 0

    def one_more() -> None:
        nonlocal number, told
        number += 1
        bar.update(task, advance=1)
        if not output.console.is_terminal and time.monotonic() - told >= LOG_EVERY:
            told = time.monotonic()
            output.say(f"{number} {what} so far · {in_short(accounts().snapshot(before))}")

    if output.console.is_terminal:
        with bar:
            yield one_more
    else:
        yield one_more


class Display:
    """The progress bar with the running success rate, and with the usage of models if any are called.

    ``verbose`` prints every traceback, not only the first.
    """

    def __init__(self, output: Output, name: str, *, models: bool, verbose: bool = False) -> None:
        self._verbose, self._failed = verbose, False
        self._output, self._models = output, models
        width = output.console.width
        wide = width >= (_WIDE if models else _NARROW)
        self._name = one_line(name.removeprefix("simia/"), _NAME if wide else _SHORT_NAME)
        self._tally, self._total = Tally(), 0
        self._task = TaskID(0)
        columns: list[ProgressColumn] = [
            TextColumn("{task.description}"),
            BarColumn(bar_width=None, table_column=Column(ratio=1, width=_LEAST_BAR)),
            TextColumn("{task.completed:.0f}/{task.total:.0f}"),
            TextColumn("success {task.fields[rate]}"),
            *([_Spent(short=not wide)] if models and width >= _NARROW else []),
            TimeElapsedColumn(Column(no_wrap=True)),
        ]
        self._bar = Progress(*columns, console=output.console, refresh_per_second=_REFRESHES, expand=True)

    @contextmanager
    def progress(self, total: int) -> Iterator[None]:
        """Show the progress of ``total`` episodes while the ``with`` block runs."""
        self._total = total
        self._task = self._bar.add_task(self._name, total=total, rate="–")
        over = threading.Event()
        logger = threading.Thread(target=self._log, args=(over,), daemon=True)
        if not self._output.console.is_terminal:
            logger.start()
        try:
            with self._bar:
                yield
        finally:
            over.set()
            if logger.ident is not None:
                logger.join()

    def failed(self, trace: str) -> None:
        """Print a traceback; without ``verbose``, only the first one."""
        if self._verbose or not self._failed:
            self._output.say(trace.rstrip() if self._verbose else f"{trace.rstrip()}\n(--verbose prints them all)")
        self._failed = True

    def done(self, record: Record) -> None:
        """Count a finished episode."""
        self._tally.add(record)
        self._bar.update(self._task, advance=1, rate=percent(self._tally.success_rate, 0))

    def _log(self, over: threading.Event) -> None:
        began, before = time.monotonic(), accounts().mark()
        while not over.wait(LOG_EVERY):
            seconds = time.monotonic() - began
            done, success = self._tally.episodes, percent(self._tally.success_rate, 0)
            line = f"after {seconds:.0f} s: {done} of {self._total} episodes done"
            line += f" ({done / seconds:.2g} a second), success {success}"
            taken = accounts().snapshot(before) if self._models else {}
            self._output.say(f"{line} · {in_short(taken)}" if taken else line)
