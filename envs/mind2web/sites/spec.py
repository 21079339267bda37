"""The file of a site as typed data: tables, pages, forms, and kinds of tasks. Mistakes are named with their lines.

A text with slots, as ``{title}``, is filled from a row or from the pairs of the address. On a page of a row (``of``),
texts look into the row first, then at the address; what a form does looks at its fields first, then at the address,
then into the row. ``{key}`` is the row's own part of its key. ``{book.title}`` follows a column ``book`` that holds the
key of another table's row. Texts that people read show dates as ``3 March 2026``; addresses and rows hold
``2026-03-03``.
"""

from __future__ import annotations

from functools import cached_property
from typing import Annotated, Literal, Self

from pydantic import Field, StrictFloat, StrictInt, model_validator

from simia_gym.common.validation import StrictModel

Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]
Text = Annotated[str, Field(min_length=1)]
Number = StrictInt | StrictFloat
Date = Annotated[str, Field(pattern=r"^\d{4}-\d\d-\d\d$")]
Kinds = Literal[
    "search and form",
    "filter",
    "pages of results",
    "cheapest or earliest",
    "question",
    "change",
    "cancel",
    "cart",
    "two wishes",
    "several steps",
]


class Column(StrictModel):
    """How the values of a column are drawn, in exactly one way."""

    pool: Name | tuple[Text, ...] | None = Field(None, description="One of a pool of the site, or of a list.")
    mix: Text | None = Field(None, description="A text with pools and columns that stand before it in braces.")
    digits: Text | None = Field(None, description="A text in which each # becomes a digit.")
    between: tuple[Number, Number] | None = Field(None, description="A number, both ends included.")
    date: tuple[Date, Date] | None = Field(None, description="A day, both ends included.")
    of: Name | None = Field(None, description="The key of a row of a table that stands before.")
    step: Number = Field(1, gt=0, description="The step of a number, such as 0.5.")
    drawn: Literal["task"] | None = Field(None, description="Drawn again for each task, such as a price.")

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        ways = {"pool", "mix", "digits", "between", "date", "of"}
        if len(ways & self.model_fields_set) != 1:
            raise ValueError(f"give exactly one of {', '.join(sorted(ways))}")
        if self.pool == ():
            raise ValueError("a pool has words")
        if self.between is not None and self.between[0] > self.between[1]:
            raise ValueError("the first number is the lower one")
        if self.date is not None and self.date[0] > self.date[1]:
            raise ValueError("the first day is the earlier one")
        if "step" in self.model_fields_set and self.between is None:
            raise ValueError("a step goes with between")
        return self

    @property
    def kind(self) -> Literal["text", "number", "date", "row"]:
        """What the column holds; ``row`` is the key of a row."""
        if self.between is not None:
            return "number"
        if self.date is not None:
            return "date"
        return "text" if self.of is None else "row"


class TableSpec(StrictModel):
    """A table: of the catalogue, which nobody changes, or of the account, which forms change."""

    columns: dict[Name, Column] = Field(min_length=1)
    key: Text | None = Field(None, description="What tells rows apart: a text with columns in braces.")
    each: Name | None = Field(None, description="The name of a row in addresses, as book in ?book=the-old-mill.")
    rows: int = Field(1, ge=1, le=500, strict=True)
    account: bool = Field(False, strict=True)
    one: bool = Field(False, strict=True, description="It has exactly one row, whose key is main.")


class StepSpec(StrictModel):
    """What leads to another page: its words, the page, and the pairs of its address."""

    words: Text
    to: Name
    pairs: dict[Name, str] = Field({}, alias="with")


class RowsSpec(StrictModel):
    """The rows of a table on a page, those that fit the address."""

    table: Name
    where: dict[str, str] = Field(
        {}, description="Column: an operator (=, !=, >=, <=, contains), a space, and a text; an empty one fits all."
    )
    sort: str | None = Field(None, description="A column, -column for the greatest first, or a pair that names one.")
    per: int = Field(20, ge=2, le=20, strict=True, description="So many rows on a page.")
    columns: dict[Text, Text] = Field(min_length=1)
    steps: tuple[StepSpec, ...] = ()


class FieldSpec(StrictModel):
    """A field of a form."""

    label: Text
    kind: Literal["text", "search", "tel", "email", "password", "number", "date", "area", "flag"] = "text"
    choice: str | tuple[Text, ...] | dict[str, Text] | None = Field(
        None, description="table.column with a pool, a table (its rows, called by `words`), texts, or {value: text}."
    )
    words: Text | None = Field(None, description="What a row is called in a choice among the rows of a table.")
    required: bool = Field(False, strict=True)
    value: str = Field("", description="What stands in it at first; else what the address has under its name.")
    limits: dict[Literal["min", "max", "step", "minlength", "maxlength", "pattern"], str | Number] = Field(
        {}, description="Further attributes of the input."
    )


class Effect(StrictModel):
    """What a form does to a table of the account: it adds a row, or changes or removes the row of its page."""

    add: Name | None = None
    change: Name | None = None
    remove: Name | None = None
    row: dict[Name, str] = Field({})

    @model_validator(mode="after")
    def _one(self) -> Self:
        if len({"add", "change", "remove"} & self.model_fields_set) != 1:
            raise ValueError("give exactly one of add, change, remove")
        if (self.remove is None) == (not self.row):
            raise ValueError("a row that is removed needs no values" if self.row else "say the values of the row")
        return self

    @property
    def way(self) -> Literal["add", "change", "remove"]:
        """What is done."""
        return "add" if self.add is not None else "change" if self.change is not None else "remove"

    @property
    def table(self) -> str:
        """The table that is changed."""
        return self.add or self.change or self.remove or ""


class Result(Effect):
    """What is different after a wish: an effect with texts of what was drawn, and the row it is about."""

    key: Text | None = Field(None, description="The key of the row that is changed or removed, as {reservation}.")


class FormSpec(StrictModel):
    """A form: it asks for another page with its fields (`to`), or it has an effect and leads to a page (`then`).

    A form with `to` keeps the pairs of the address that are none of its fields.
    """

    button: Text
    fields: dict[Name, FieldSpec] = Field({})
    to: Name | None = None
    effect: Effect | None = None
    then: Name | None = None
    pairs: dict[Name, str] = Field({}, alias="with", description="Further pairs of the page that comes then.")
    done: Text | None = Field(None, description="What the next page says after the effect.")
    undo: Name | None = Field(None, description="The page whose form undoes the effect.")
    final: bool = Field(False, strict=True, description="Nothing undoes it, and the page says so.")

    @model_validator(mode="after")
    def _asks_or_does(self) -> Self:
        if (self.to is None) == (self.effect is None):
            raise ValueError("give either `to` or `effect`")
        if self.effect is None and (self.then or self.done or self.undo or self.final):
            raise ValueError("then, done, undo and final go with an effect")
        if self.effect is not None and (not self.then or not self.done):
            raise ValueError("an effect needs `then`, the page that comes, and `done`, the words that it says")
        if self.effect is not None and (self.undo is None) != self.final:
            raise ValueError("name in `undo` the page whose form undoes the effect, or write final: true")
        return self


class PageSpec(StrictModel):
    """A page: its address, and what stands on it from the top."""

    path: str = Field(pattern=r"^/([a-z0-9-]+(/[a-z0-9-]+)*)?$")
    heading: Text
    menu: Text | None = Field(None, description="Its words in the menu; the heading where it has none.")
    of: Name | None = Field(None, description="The table whose row the page shows.")
    text: tuple[Text, ...] = ()
    facts: dict[Text, Text] = Field({})
    rows: RowsSpec | None = None
    form: FormSpec | None = None
    steps: tuple[StepSpec, ...] = ()


class Draw(StrictModel):
    """How a value of a task is drawn."""

    of: Name | None = Field(None, description="The key of a row of this table.")
    column: str | None = Field(None, description="table.column: a value as this column is drawn.")
    among: tuple[Text, ...] | None = Field(None, description="One of these texts.")
    where: dict[str, str] = Field({}, description="As in rows, with what was drawn before in braces.")
    least: str | None = Field(None, description="The one row with the least value of this column.")
    most: str | None = Field(None, description="The one row with the greatest value of this column.")
    without: Name | None = Field(None, description="No row of this table refers to the row.")
    alone: tuple[str, ...] = Field((), description="No other row has the same values in these columns.")
    unlike: Text | None = Field(None, description="The value differs from this one, as {reservation.until}.")

    @model_validator(mode="after")
    def _one(self) -> Self:
        if len({"of", "column", "among"} & self.model_fields_set) != 1:
            raise ValueError("give exactly one of of, column, among")
        if self.of is None and (self.where or self.least or self.most or self.without or self.alone):
            raise ValueError("where, least, most, without and alone go with `of`")
        return self


class Stop(StrictModel):
    """One page on the way: the form is filled and sent, or a step is taken, perhaps that of a row.

    The last stop of a question only looks.

    Attributes:
        page: The page.
        fill: By field what is filled in, as people write it; then the button of the form is pressed.
        pick: The row whose step is taken, by some of its cells; or the first row. Next page while it is not there.
        press: The words of the step.
    """

    page: Name
    fill: dict[Name, str] | None = None
    pick: dict[Text, Text] | Literal["first"] | None = None
    press: Text | None = None

    @model_validator(mode="after")
    def _one(self) -> Self:
        if self.fill is not None and (self.press or self.pick):
            raise ValueError("a stop fills the form, or takes a step")
        if self.pick is not None and self.press is None:
            raise ValueError("a row that is picked has a step to press")
        return self


class Shown(StrictModel):
    """Where a page shows that a wish is done: a row with these cells, no such row, or facts."""

    page: Name
    row: dict[Text, Text] | None = None
    absent: dict[Text, Text] | None = None
    facts: dict[Text, Text] | None = None

    @model_validator(mode="after")
    def _one(self) -> Self:
        if len({"row", "absent", "facts"} & self.model_fields_set) != 1:
            raise ValueError("give exactly one of row, absent, facts")
        return self


class Wish(StrictModel):
    """One wish: its way over the pages, and unless it is a question, its result and where that is seen."""

    route: tuple[Stop, ...] = Field(min_length=1)
    shown: Shown | None = None
    result: Result | None = None

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if (self.shown is None) != (self.result is None):
            raise ValueError("a result is shown somewhere: give both `shown` and `result`")
        return self


class Reading(StrictModel):
    """Where the answer stands on the last page: in the column of the row that has these cells, or of the first one."""

    row: dict[Text, Text] | Literal["first"]
    column: Text


class KindSpec(StrictModel):
    """A kind of task: sentences with what was drawn in braces, and the wishes that they say."""

    kind: Kinds
    say: tuple[Text, ...] = Field(min_length=3)
    draw: dict[Name, Draw] = Field(min_length=1)
    wishes: tuple[Wish, ...] = Field(min_length=1)
    answer: Text | None = Field(None, description="The answer to a question, as {book.year}.")
    read: Text | Reading | None = Field(None, description="The fact, or the cell, that is the answer.")

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if (self.answer is None) != (self.read is None):
            raise ValueError("a question has `answer`, and `read`, where it stands")
        if self.answer is None and any(wish.result is None for wish in self.wishes):
            raise ValueError("a wish without an answer has a result")
        return self


class Site(StrictModel):
    """A site.

    Attributes:
        name: Its name, that of its file.
        title: What it is called on its pages.
        domain: What it is about, in the words of the published format, such as Information.
        subdomain: The same, more closely.
        menu: The pages that every page leads to.
        pools: Words by name.
        tables: The tables, in the order in which they are drawn.
        pages: The pages; the first one is where a visit starts.
        kinds: The kinds of tasks.
    """

    name: Name
    title: Text
    domain: Text
    subdomain: Text
    menu: tuple[Name, ...] = Field(min_length=1)
    pools: dict[Name, tuple[Text, ...]] = Field({})
    tables: dict[Name, TableSpec] = Field(min_length=1)
    pages: dict[Name, PageSpec] = Field(min_length=1)
    kinds: dict[Name, KindSpec] = Field(min_length=1)

    @property
    def start(self) -> str:
        """The path of the page where a visit starts."""
        return next(iter(self.pages.values())).path

    @cached_property
    def paths(self) -> dict[str, str]:
        """The names of the pages by their paths."""
        return {page.path: name for name, page in self.pages.items()}

    @cached_property
    def reads(self) -> dict[str, tuple[bool, bool]]:
        """By path of a page: whether it shows rows of the catalogue, and of the account."""
        found: dict[str, tuple[bool, bool]] = {}
        for name, page in self.pages.items():
            fields = [*self.asked.get(name, {}).values(), *(page.form.fields.values() if page.form else ())]
            choices = [field.choice for field in fields if isinstance(field.choice, str)]
            waiting = [page.of, page.rows.table if page.rows is not None else None]
            waiting += [choice for choice in choices if "." not in choice]
            tables: set[str] = set()
            while waiting:
                table = waiting.pop()
                if table is not None and table not in tables:
                    tables.add(table)
                    waiting += [column.of for column in self.tables[table].columns.values()]
            accounts = {self.tables[table].account for table in tables}
            found[page.path] = (False in accounts, True in accounts)
        return found

    @cached_property
    def asked(self) -> dict[str, dict[str, FieldSpec]]:
        """By page: the fields of the first form that asks for it."""
        found: dict[str, dict[str, FieldSpec]] = {}
        for page in self.pages.values():
            if page.form is not None and page.form.to is not None:
                found.setdefault(page.form.to, page.form.fields)
        return found
