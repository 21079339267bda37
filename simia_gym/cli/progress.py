"""The progress bar: how far, how well, and what it has taken so far, in one line of the terminal."""

from __future__ import annotations

from rich.progress import BarColumn, Progress, ProgressColumn, TaskID, TextColumn, TimeElapsedColumn

from simia_gym.cli.output import Output
from simia_gym.cli.spending import in_short
from simia_gym.errors import SimiaError
from simia_gym.llm.accounts import accounts
from simia_gym.rollout.records import Record

_NAME = 16
_REST, _SPENT = 34, 34
"""Width of the other columns, and of the one for what models took, spaces included."""
_LEAST_BAR, _MOST_BAR = 5, 40


class BudgetSpentError(SimiaError):
    """A budget is used up: what is left of the run would be faults."""


class Display:
    """The progress bar with the running success rate.

    Args:
        output: Where it goes.
        env: The environment's id.
        models: Whether models are asked, so that it is to be shown what they take.
    """

    def __init__(self, output: Output, env: str, *, models: bool) -> None:
        name = env.removeprefix("simia/")
        self._env = name if len(name) <= _NAME else f"{name[: _NAME - 1]}…"
        self._successes = self._valid = 0
        self._task = TaskID(0)
        room = output.console.width - len(self._env) - _REST - (_SPENT if models else 0)
        columns: list[ProgressColumn] = [TextColumn("{task.description}")]
        if room >= _LEAST_BAR:
            columns.append(BarColumn(min(room, _MOST_BAR)))
        columns += [
            TextColumn("{task.completed:.0f}/{task.total:.0f}"),
            TextColumn("success {task.fields[rate]}"),
            *([TextColumn("{task.fields[spent]}")] if models else []),
            TimeElapsedColumn(),
        ]
        self._bar = Progress(*columns, console=output.console)

    def progress(self, total: int) -> Progress:
        """The bar, as a context."""
        self._task = self._bar.add_task(self._env, total=total, rate="–", spent="")
        return self._bar

    def done(self, record: Record) -> None:
        """Count one episode.

        Raises:
            BudgetSpentError: It ended because the budget is used up, as all that follow would.
        """
        self._valid += record.valid
        self._successes += record.success
        rate = f"{100 * self._successes / self._valid:.0f}%" if self._valid else "–"
        spent = accounts().snapshot()
        self._bar.update(self._task, advance=1, rate=rate, spent=in_short(spent) if spent else "")
        if record.fault is not None and record.fault.get("kind") == "budget":
            raise BudgetSpentError(str(record.fault["message"]))
