"""``service.yaml`` as typed data."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, Field
from pydantic.config import JsonDict

from simia_gym.common.validation import StrictModel
from simia_gym.service.case import Option
from simia_gym.types import Split
from simia_gym.users.cues import CuePattern, CuePatterns, SlotCues, Texts, listed


def _pattern(value: Any) -> Any:
    try:
        return re.compile("|".join(listed(value)), re.IGNORECASE)
    except re.error as error:
        raise ValueError(f"is no regular expression ({error})") from None


Pattern = Annotated[re.Pattern[str], BeforeValidator(_pattern, json_schema_input_type=str | tuple[str, ...])]
"""A regular expression; of several, one must match."""


def _function(parameters: str, gives: str, *, default: Any = None) -> Any:
    """A field for the name of a function of the module; by default no function."""
    extra: JsonDict = {"parameters": parameters}
    return Field(default, description=f"Function({parameters}) -> {gives}.", json_schema_extra=extra)


_CRITERIA = "further rubric items; one with the id of an item that is there changes its keys"


def _option(value: Any) -> Any:
    given = {"say": value} if isinstance(value, str | list) else value
    return {name: listed(texts) for name, texts in given.items()} if isinstance(given, dict) else given


OptionDeclaration = Annotated[Option, BeforeValidator(_option, json_schema_input_type=Option | str | tuple[str, ...])]


class SlotDeclaration(SlotCues):
    """A detail that the customer tells.

    The value is read by `read` (the group ``value``, all groups by their names if there is none of this name, else the
    match), by `choice` (the value whose words occur), and where these find nothing by `find` (a function of the text
    and the case) or by `options` (the value whose words occur, where these depend on facts).
    """

    ask: CuePatterns = Field(min_length=1, description="Patterns of how agents ask for it.")
    question: Texts = Field(min_length=1, description="How the expert asks for it.")
    say: Texts = Field(min_length=1, description="How the customer tells it; `{value}` is the value in words.")
    instead: Texts = Field(
        (), description="How the customer wants another value, as `make it {value}`; without it, he never does."
    )
    describe: Texts = Field((), description="How some customers describe it, by the wish's other slots.")
    read: Pattern | None = Field(None, description="Pattern by which the expert reads it.")
    answer: Pattern | None = Field(
        None, description="Pattern by which the expert reads it in the answer to a question for it alone."
    )
    choice: Mapping[Any, OptionDeclaration] = Field(default_factory=dict, description="Value to words.")
    find: str | None = _function("text, case", "the value, or None; `simia_gym.service.named_in` finds values by words")
    options: str | None = _function("case", "value to `Option`, for words that need facts")
    many: bool = Field(False, description="Whether the value is a list of options.")
    words: str | None = _function("value", "the value in words, for values without options")
    expect: str | None = _function("case, value", "what a proposal must say about it, as in a script's `expect`")
    token: str | None = Field(None, description="Which of `tokens` looks like its values.")
    forms: Texts = Field(("{value}",), description="Texts by which a proposal may name it.")
    named: bool = Field(True, description="Whether a proposal must name it.")
    known: float = Field(1.0, ge=0, le=1, description="Share of customers who know it, for identification.")

    @property
    def needs_facts(self) -> bool:
        """Whether facts may be needed to read it."""
        return self.find is not None or self.options is not None


class RuleDeclaration(StrictModel):
    """A rule: the function of this name in the module, unless it always objects, and the words of its refusal."""

    why: str = Field(description="The refusal; slots and the values of `No` are filled in.")
    about: Texts = Field((), description="Of these texts, filled in, one must stand in a refusal.")
    shown: str | None = _function(
        "case",
        "the calls that show it; a list inside it means one of these. If not given, the calls that the rule reads",
    )
    earlier: bool = Field(False, description="Whether it is about an earlier deed, which may be mentioned.")
    always: Literal["refuse", "handover"] | None = Field(
        None, description="What it does in every case, if it needs no function: it refuses, or hands the customer over."
    )


class CallDeclaration(StrictModel):
    """The call that grants a wish."""

    tool: str = Field(description="The tool.")
    arguments: Mapping[str, str] = Field(
        alias="with", description="Argument to a slot or a name of `values`, or to `$who`, the customer's id."
    )
    binds: tuple[Texts, ...] | None = Field(
        None,
        description="Arguments that a proposal must name, the object first; of a list inside it, one is enough. If not"
        " given, those that take a slot that is `named` and has one value.",
    )


WishTurn = Literal["change", "otherwise", "withdraw"]
"""What a customer does with a wish later: changes it before he confirms it or once it is refused, or withdraws it."""


class Variant(StrictModel):
    """How the drawn rows and slots of a wish are changed."""

    set: Mapping[str, Mapping[str, Any]] = Field(default_factory=dict, description="Row name to fields; `who` too.")
    slots: Mapping[str, Any] = Field(default_factory=dict, description="Slots to other values.")
    do: str | None = _function("cast, drawn, member", "None, after it has changed what was drawn")
    kind: str | None = Field(None, description="The kind of its tasks, which may be shared.")


class BreachDeclaration(Variant):
    """A variant to which a rule must object; the kind of its tasks is `refuse_WISH_BREACH` if not given."""

    rule: str = Field(description="The rule of the wish that must object.")
    criteria: str | None = _function("case, drawn", _CRITERIA)


class EdgeDeclaration(Variant):
    """A variant that is only just allowed."""

    tasks: bool = Field(True, description="Whether tasks are drawn with it; if not, it only proves where rules begin.")


UNCHANGED = EdgeDeclaration.model_validate({})
"""An edge that changes nothing."""


class WishDeclaration(StrictModel):
    """What a customer may ask for: a deed (`call`) or a question (`tell`)."""

    kind: str | None = Field(None, description="The kind of the tasks that grant it; the wish's name if not given.")
    granted: bool = Field(True, description="Whether it is ever granted; if not, breaches are all its tasks.")
    say: Texts = Field(min_length=1, description="How the customer brings it up; slots in it are told at once.")
    hear: Pattern = Field(description="By which the expert recognises it.")
    does: CuePatterns = Field((), description="Patterns that show that a proposal is about it.")
    slots: tuple[str, ...] = Field((), description="Its slots, which are told when an agent asks for them.")
    keeps: tuple[str, ...] = Field((), description="Slots that the customer never changes here.")
    questions: Mapping[str, Texts] = Field(default_factory=dict, description="Slot to how the expert asks here.")
    rules: tuple[str, ...] = Field((), description="Its rules, in the order in which they are asked.")
    values: str | None = _function("case", "the values of `call` and of the lines")
    call: CallDeclaration | None = Field(None, description="The call that grants it; none for a question.")
    propose: str = Field("", description="What the expert says before it asks for a yes.")
    report: Texts = Field((), description="What the expert says when it is done; built in if not given.")
    tell: str = Field("", description="The answer to a question, in the expert's words.")
    answers: Texts = Field((), description="Of these texts, filled in, one is told in an answer.")
    token: str | None = Field(
        None, description="Which of `tokens` an answer looks like; then the customer wants one value of this kind."
    )
    about: CuePattern = Field(
        "", description="Pattern of what names the answer, where others of its kind stand beside it."
    )
    criteria: str | None = _function("case, drawn", _CRITERIA)
    then: Texts = Field(
        (), description="Wishes about the same rows, one of which half of the customers with a further wish have next."
    )
    deeds: Texts = Field((), description="Participles of the deed, or in the answer; not to be claimed if refused.")
    draw: str | None = _function("cast, member", "Drawn; if not given, it is about nothing but the customer")
    breaches: Mapping[str, BreachDeclaration] = Field(
        default_factory=dict, description="Variants that are forbidden; every rule needs one."
    )
    edges: Mapping[str, EdgeDeclaration] = Field(
        default_factory=dict, description="Variants that are only just allowed."
    )

    def variant(self, name: str) -> Variant:
        """The breach or edge of this name; ``""`` changes nothing."""
        return self.breaches.get(name) or self.edges.get(name, UNCHANGED)


class WayDeclaration(StrictModel):
    """A way to find out who the customer is: a tool, and which slot each argument takes."""

    tool: str = Field(description="The tool; its result is the customer's id, or with `who` the profile.")
    arguments: Mapping[str, str] = Field(alias="with", description="Argument to slot, or to `slot.part`.")
    who: str | None = Field(None, description="The argument that is the customer's id; the result if not given.")

    @property
    def slots(self) -> tuple[str, ...]:
        """The slots that it takes."""
        return tuple(dict.fromkeys(source.partition(".")[0] for source in self.arguments.values()))

    def filled(self, details: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments, from the customer's details."""
        found = {}
        for argument, source in self.arguments.items():
            slot, _, part = source.partition(".")
            found[argument] = details[slot][part] if part else details[slot]
        return found


class HandoverDeclaration(StrictModel):
    """The call that hands a customer over to somebody else."""

    tool: str = Field(description="The tool.")
    arguments: Mapping[str, str] = Field(alias="with", description="Argument to text; the wish's slots are filled in.")


class OwnerDeclaration(StrictModel):
    """Whose row an argument names: the table, and its field that holds the owner's id (the key itself if none)."""

    table: str = Field(description="The table of which the argument is a key.")
    field: str | None = Field(
        None, description="The field that holds the owner's id; the key itself if not given. A null is nobody's."
    )


class KindDeclaration(StrictModel):
    """A kind of task whose customers do something certain; all of it is drawn where it is not given."""

    of: Texts = Field(default=(), description="The kinds whose wishes it has; all that are granted if not given.")
    further: int | None = Field(default=None, ge=0, description="How many further wishes the customer has.")
    then: str | None = Field(default=None, description="The further wish, which is about the same rows as the first.")
    turn: WishTurn | None = Field(default=None, description="What becomes of the first wish.")
    slot: str | None = Field(default=None, description="The slot that the customer changes.")
    withheld: bool = Field(default=False, description="Whether the customer tells everything only when asked.")


ANY_KIND = KindDeclaration()
"""A kind of which nothing is given, so that all is drawn."""


Pair = tuple[str, str]
"""A wish, and its breach or edge; ``""`` for neither."""
STRANGER: Pair = ("", "")
"""What stands for a wish and its breach where nobody can be found."""


class ServiceDeclaration(StrictModel):
    """The keys of ``service.yaml``."""

    module: Texts = Field(min_length=1, description="The Python file, or files, of rules and functions.")
    ids: str = Field("", description="What the ids of tasks begin with; the domain's name if not given.")
    customer: str = _function("cast", "a new customer, a `Member`", default=...)
    identify: tuple[WayDeclaration, ...] = Field(min_length=1, description="The ways to find the customer, in order.")
    owners: Mapping[str, OwnerDeclaration] = Field(
        default_factory=dict, description="Arguments that name somebody's row; another's must not be used."
    )
    named_by: Texts = Field(
        ("name", "title"), description="Fields of tools' answers by which people speak of the row that has them."
    )
    original_in: str | None = Field(
        None, description="The list in tools' answers whose first row holds what people call original."
    )
    money: Mapping[str, Literal["paid", "returned"]] = Field(
        default_factory=dict,
        description="Field that a call sets to what happens with a positive amount in it, `paid` by the customer or"
        " `returned` to it; with a negative one, or in a row that says `refund`, the other. No proposal may say the"
        " opposite.",
    )
    handover: HandoverDeclaration | None = Field(None, description="For rules that object with `No(handover=True)`.")
    tokens: Mapping[str, CuePattern] = Field(
        default_factory=dict, description="Name to the pattern of values with a shape of their own, such as ids."
    )
    leave_after: Texts = Field((), description="Tools after whose success the customer leaves.")
    stranger: str = Field(description="What the expert tells somebody who cannot be found.")
    stranger_kind: str = Field("stranger", description="The kind of the tasks of such people.")
    vague: Texts = Field(
        ("Hello, I need some help.", "Hi there, I have a request.", "Good day. Can you help me?"),
        description="First words that leave the wish unsaid.",
    )
    personas: Texts = Field((), description="Descriptions of customers, for user simulators that improvise.")
    close: Texts = Field((), description="How customers take their leave.")
    asides: Mapping[str, SlotCues] = Field(default_factory=dict, description="Details that no customer can tell.")
    greetings: Texts = Field(("Hi.", "Hello there.", "Good morning."), description="Words before the first wish.")
    vagueness: float = Field(0.25, ge=0, le=1, description="Share of the customers who begin with `vague`.")
    forbidden: float = Field(0.4, ge=0, le=1, description="Share of the tasks whose first wish is a breach.")
    further: float = Field(0.3, ge=0, le=1, description="Share of the tasks with a second wish.")
    changes: float = Field(0.15, ge=0, le=1, description="Share of the wishes that change before they are confirmed.")
    otherwise: float = Field(0.15, ge=0, le=1, description="Share of the wishes that take another form if refused.")
    withdrawals: float = Field(0.1, ge=0, le=1, description="Share of the first of two wishes that are withdrawn.")
    slots: Mapping[str, SlotDeclaration] = Field(description="The details that customers tell.")
    rules: Mapping[str, RuleDeclaration] = Field(default_factory=dict, description="The rules, by their functions.")
    wishes: Mapping[str, WishDeclaration] = Field(min_length=1, description="What customers may ask for.")
    kinds: Mapping[str, KindDeclaration] = Field(default_factory=dict, description="Further kinds of tasks.")
    fixed: Mapping[Split, Texts] = Field(
        default_factory=dict, description="Split to the kinds of its fixed tasks, for `write_fixed`."
    )

    @property
    def allowed(self) -> list[Pair]:
        """What may be granted: every wish as it is drawn, and its edges that have a kind of their own."""
        wishes = ((name, wish) for name, wish in self.wishes.items() if wish.granted)
        return [
            (name, edge)
            for name, wish in wishes
            for edge in ("", *(key for key, one in wish.edges.items() if one.kind and one.tasks))
        ]

    @property
    def refused(self) -> list[Pair]:
        """What must be refused: every breach, and whatever a stranger wants."""
        return [*((name, breach) for name, wish in self.wishes.items() for breach in wish.breaches), STRANGER]

    def kind_of(self, wish: str, variant: str) -> str:
        """The kind of the tasks about a wish, or about one of its breaches or edges."""
        if (wish, variant) == STRANGER:
            return self.stranger_kind
        declared = self.wishes[wish]
        plain = f"refuse_{wish}_{variant}" if variant in declared.breaches else declared.kind or wish
        return declared.variant(variant).kind or plain


Named = tuple[tuple[str | int, ...], str, str]
"""A function's name: where it is written, the name, and the parameters that it must take."""


def functions(declared: ServiceDeclaration) -> Iterator[Named]:
    """Every function of the module that a declaration names; a rule's function has the rule's name."""
    yield from ((("rules", name), name, "case") for name, rule in declared.rules.items() if rule.always is None)
    yield from _functions_in(declared, ())


def _functions_in(value: Any, path: tuple[str | int, ...]) -> Iterator[Named]:
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _functions_in(item, (*path, key))
    elif isinstance(value, BaseModel):
        for name, field in type(value).model_fields.items():
            item, extra = getattr(value, name), field.json_schema_extra
            if item is not None and isinstance(extra, dict):
                yield (*path, name), item, str(extra["parameters"])
            yield from _functions_in(item, (*path, name))
