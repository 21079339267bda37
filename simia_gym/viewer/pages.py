"""Pages of records: templates that escape what they are given, with a style, a script and a security policy."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import cache
from hashlib import sha256
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, NamedTuple

from simia_gym.errors import InputError, StorageError
from simia_gym.record.records import Record
from simia_gym.types import JsonObject
from simia_gym.viewer.changes import pretty
from simia_gym.viewer.rows import Overview, Row, records_of, tokens_of
from simia_gym.viewer.steps import Conversation, Panels, conversation
from simia_gym.viewer.times import Times, TimesOf, in_seconds

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

MARK = b"<!DOCTYPE html>\n<!-- simia view -->"
"""How a page begins."""
MOST_ROWS = 500
"""Rows that a list shows at first; more come with the button below it."""
COLUMNS = (
    ("#", True),
    ("task", False),
    ("kind", False),
    ("reward", True),
    ("result", False),
    ("fault", False),
    ("turns", True),
    ("tokens", True),
    ("ended", False),
    ("not met", False),
)
"""The columns of the list, and whether they are sorted as numbers."""

PanelsOf = Callable[[Record], Panels | None]
"""Finds the domain's own view of a record's state."""


def require_view(where: str = "simia view") -> None:
    """Check that the libraries of the extra ``view`` are installed, without importing them.

    Args:
        where: What needs them.

    Raises:
        InputError: One is missing; says what to install.
    """
    for module in ("jinja2", "matplotlib"):
        if find_spec(module) is None:
            fix = 'Install what pages need: pip install "simia-gym[view]"'
            raise InputError(f"{module} is not installed", where=where, fix=fix)


class Item(NamedTuple):
    """An episode for a template.

    Attributes:
        row: Its row of the list.
        record: Its record.
        conversation: Its steps.
        facts: Names and values for its head.
        task: The task as JSON.
        cited: For each event, the criteria whose evidence it is.
        system: The name of its system message; empty if it has none.
        system_text: That message.
        before: The number of the episode before it, if any.
        after: The number of the next episode, if any.
    """

    row: Row
    record: Record
    conversation: Conversation
    facts: list[tuple[str, str]]
    task: str
    cited: dict[int, list[str]]
    system: str
    system_text: str
    before: int | None = None
    after: int | None = None


def item_of(row: Row, record: Record, panels: Panels | None, last: int, times: Times | None = None) -> Item:
    """Prepare an episode for a template."""
    times = times or Times()
    cited: dict[int, list[str]] = {}
    for one in record.verdict.get("criteria", ()):
        for piece in one["evidence"]:
            names = cited.setdefault(piece["event"], [])
            if one["id"] not in names:
                names.append(one["id"])
    contents = record.start.get("content", {})
    system = next((name for name in ("native_system", "system") if name in contents), "")
    return Item(
        row=row,
        record=record,
        conversation=conversation(record, panels, times.calls),
        facts=_facts(record, times),
        task=pretty(record.content("task")) if "task" in contents else record.task,
        cited=cited,
        system=f"system-{contents[system][:16]}" if system else "",
        system_text=record.content(system) if system else "",
        before=row.number - 1 if row.number else None,
        after=row.number + 1 if row.number < last else None,
    )


def _facts(record: Record, times: Times) -> list[tuple[str, str]]:
    start = record.start
    told: JsonObject = {
        "environment": start.get("env", record.config["env"]),
        "kind": record.kind,
        "split": record.split,
        "policy": record.policy,
        "seed": record.seed,
        "member": record.member or "",
        "simulator": start.get("simulator"),
        "user": start.get("user"),
        **{f"model of {role}": model for role, model in start.get("models", {}).items()},
        "turns": record.turns,
        "tokens": figure(tokens_of(record)),
        "took": in_seconds(times.seconds),
        "ended": record.ended,
        "line": record.line or None,
    }
    return [(name, str(value)) for name, value in told.items() if value not in (None, "", "–")]


def figure(value: float | None) -> str:
    """A number as text; nothing is a dash."""
    return "–" if value is None else f"{value:,}" if isinstance(value, int) else f"{value:.4g}"


@cache
def _environment() -> Environment:
    require_view()
    from jinja2 import Environment, PackageLoader, StrictUndefined

    made = Environment(
        loader=PackageLoader("simia_gym.viewer"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["figure"] = figure
    return made


@cache
def _own(name: str) -> Markup:
    from markupsafe import Markup

    return Markup((files("simia_gym.viewer") / "templates" / name).read_text(encoding="utf-8"))


@cache
def policy() -> str:
    """The content security policy of every page: its own script by hash, inline styles, and nothing from anywhere."""
    digest = base64.b64encode(sha256(_own("script.js").encode()).digest()).decode()
    closed = "default-src 'none'; base-uri 'none'; form-action 'none'"
    return f"{closed}; script-src 'sha256-{digest}'; style-src 'unsafe-inline'"


def render(template: str, **values: Any) -> Iterator[str]:
    """The parts of a page, one after the other, so that no page has to be held whole."""
    # Whoever draws a chart imports matplotlib; what is said here keeps a missing one from being a traceback.
    own = {"most": MOST_ROWS, "policy": policy(), "style": _own("style.css"), "script": _own("script.js")}
    return iter(_environment().get_template(f"{template}.html.jinja").generate(**{**own, **values}))


def list_values(overview: Overview, title: str) -> dict[str, Any]:
    """What the list of episodes needs to be drawn."""
    from simia_gym.viewer.charts import histogram

    rewards = [row.reward for row in overview.rows if row.reward is not None]
    tokens = [row.tokens for row in overview.rows if row.tokens is not None]
    charts = [histogram(rewards, "reward", share=True)] if rewards else []
    charts.append(histogram([row.turns for row in overview.rows], "turns"))
    charts += [histogram(tokens, "tokens")] if tokens else []
    chosen = {name: overview.values(name) for name in ("result", "kind", "split", "policy", "ended")}
    return {
        "title": title,
        "overview": overview,
        "average": fmean(rewards) if rewards else None,
        "charts": charts,
        "curves": [],
        "scores": [],
        "columns": COLUMNS,
        "overview_values": {**chosen, "record": sorted({row.path.name for row in overview.rows})},
    }


def list_page(
    overview: Overview,
    title: str,
    panels_of: PanelsOf,
    curves: Sequence[Markup] = (),
    scores: Sequence[Any] = (),
) -> Iterator[str]:
    """One page with the list and all episodes, below curves of a training, or tables of scores, if there are any."""
    systems: dict[str, str] = {}
    last, times = len(overview.rows) - 1, TimesOf()

    def items() -> Iterator[Item]:
        for row, record in records_of(overview.rows):
            item = item_of(row, record, panels_of(record), last, times(row.path, record.key))
            if item.system:
                systems[item.system] = item.system_text
            yield item

    values = list_values(overview, title) | {"curves": curves, "scores": scores}
    return render("list", **values, episodes=items(), systems=systems, address=_fragment)


def episode_page(record: Record, panels: Panels | None) -> Iterator[str]:
    """The page of one episode alone."""
    item = item_of(Overview().add(record, Path(), 0), record, panels, 0)
    return render("one", title=record.task, item=item, back="", address=_fragment)


def _fragment(number: int) -> str:
    return f"#e{number}"


def write_page(path: Path, parts: Iterator[str]) -> None:
    """Write a page as it is made; an earlier one stays if it cannot be written.

    Raises:
        StorageError: The file cannot be written.
    """
    path = path.resolve()
    beside = path.with_name(f".{path.name}.new")
    try:
        try:
            with beside.open("w", encoding="utf-8", errors="replace", newline="\n") as file:
                file.writelines(parts)
            beside.replace(path)
        finally:
            beside.unlink(missing_ok=True)
    except OSError as error:
        with suppress(OSError):
            beside.unlink()
        fix = "Make room, or give another file."
        raise StorageError(f"cannot be written ({error.strerror})", where=str(path), fix=fix) from error
