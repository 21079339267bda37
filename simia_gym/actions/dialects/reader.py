"""Reads the replies of a policy that writes its calls in the dialect of a model family."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from simia_gym.actions.base import Grammar
from simia_gym.actions.calls import broken, broken_json
from simia_gym.actions.dialects.gemma import read_gemma
from simia_gym.actions.dialects.marked import read_cohere, read_deepseek, read_harmony, read_kimi, read_react
from simia_gym.actions.dialects.names import MARKS, NAMES, Dialect, Marks
from simia_gym.actions.dialects.pythonic import read_bare, read_pythonic, read_tool_code
from simia_gym.actions.dialects.tagged import read_tags
from simia_gym.actions.dialects.values import Tools
from simia_gym.actions.strict_json import JsonProblem
from simia_gym.actions.thinking import MARK_PATTERN, THINKING, after_thinking, strip_thinking, thinking_end
from simia_gym.errors import ActionError
from simia_gym.types import Calls, JsonObject, Say, ToolCall


class _Family(NamedTuple):
    """How the calls of a dialect are found and read.

    Attributes:
        read: Reads the calls at a position; returns them and the index after them.
        within: Where calls begin in a reply that begins with something else, or in the end of a broken one.
        begin: Where calls begin at the beginning of a reply, if not with a mark.
        says: A reply that is a message, if the family has marks around it; its group is the message.
    """

    read: Callable[[str, int, Tools], tuple[list[ToolCall], int]]
    within: str = ""
    begin: str = ""
    says: str = ""


_NAMED = r"[A-Za-z_][\w.]*+\((?=\s*+(?:[A-Za-z_]\w*+(?:\s*+=(?!=)|\Z)|\)|[\"'\[{]|\Z))"
_ACTION = r"Action:[ \t]*+[\w.-]++[ \t]*+"
_FAMILIES: Mapping[str, _Family] = {
    "deepseek": _Family(
        read_deepseek,
        r"<[｜|]tool▁calls▁begin[｜|]>\s*+<|<[｜|]tool▁call▁begin[｜|]>\s*+\w"
        r"|<｜DSML｜\w+_calls>\s*+<|<｜DSML｜invoke ",
    ),
    "kimi": _Family(read_kimi, r"<\|tool_calls_section_begin\|>\s*+<\|tool|<\|tool_call_begin\|>\s*+functions\."),
    "harmony": _Family(
        read_harmony,
        r"(?:<\|start\|>assistant(?:<\|channel\|>\w++)?|<\|channel\|>(?:commentary|analysis)) to=functions\.",
        says=r"(?:<\|start\|>assistant)?<\|channel\|>(?:final|commentary)<\|message\|>"
        r"(.*?)(?:<\|return\|>|<\|end\|>)?\Z",
    ),
    "pythonic": _Family(
        read_pythonic,
        r"<\|python_(?:start|tag)\|>\s*+\[?\w++\(",
        rf"\[\s*+(?:{_NAMED}|[A-Za-z_][\w.]*+\((?=.*\)\]\s*\Z))",
    ),
    "minimax": _Family(read_tags, r"<minimax:tool_call>\s*+<"),
    "cohere": _Family(
        read_cohere, r"<\|START_ACTION\|>\s*+[\[{]", says=r"<\|START_RESPONSE\|>(.*?)(?:<\|END_RESPONSE\|>)?\Z"
    ),
    "gemma": _Family(read_gemma, r"(?:<\|tool_call>|<start_function_call>)\s*+call:"),
    "tool_code": _Family(read_tool_code, r"^```tool_code[ \t]*+\n"),
    "react": _Family(
        read_react,
        rf"^{_ACTION}\n\s*+Action Input:",
        rf"{_ACTION}\n\s*+Action Input:|(?:Thought:[^\n]*+(?:\n(?!\s*+Action:)[^\n]*+)*+\n\s*+)?{_ACTION}"
        r"(?:\Z|\n\s*+(?:Action(?! Input:)|(?:A(?:c(?:t(?:io?)?)?)?)?\Z))",
        r"(?:Thought:.*?\n\s*+)?Final Answer:(.*)\Z",
    ),
    "bare": _Family(read_bare, "", rf"{_NAMED}|[A-Za-z_][\w.]*+\((?=.*\)\s*\Z)"),
    "invoke": _Family(read_tags, r"^(?:<function_calls>\s*+<|<invoke\s++name=[\"'])"),
}
_QUOTE = r"(?P<quote>[`\"'“‘])?"
_MOST_TRIES = 100
_OVER = re.compile(
    r"(?:\s*+(?:<｜end▁of▁sentence｜>|<\|im_end\|>|<\|eo[tm](?:_id)?\|>|<end_of_turn>|<turn\|>"
    r"|<\|END_OF_TURN_TOKEN\|>|\[e~\[))*+"
)
"""The marks that end a turn, which some servers leave in the text."""
_OBSERVATION = re.compile(
    r"\s*+(?:<tool_response>|```tool_outputs?\b|<[｜|]tool▁outputs?▁begin[｜|]>|<start_function_response>"
    r"|<\|tool_response>|<\|START_TOOL_RESULT\|>|<(?:｜DSML｜)?function_results?>|<\|start\|>functions\.)|\s*?\n\s*+Observation:"
)
"""Where an observation begins, which no policy may write itself."""
_CHANNEL = re.compile(r"(?:<\|start\|>assistant)?<\|channel\|>commentary<\|message\|>|<\|end\|>|<\|start\|>assistant")


class Reading(NamedTuple):
    """What a reply in the dialect is.

    Attributes:
        action: Its calls, or what is wrong with them; or the message, if marks of the family stood around it.
        invented: Whether an observation that the policy invented stands behind them; it was cut off.
    """

    action: Calls | Say | ActionError
    invented: bool = False


class DialectReader:
    """Reads the calls of one dialect; it is stateless.

    Args:
        dialect: The dialect.
        tools: OpenAI tool dictionaries; their schemas say what the values of MiniMax and of ``<invoke>`` are.
    """

    def __init__(self, dialect: Dialect, tools: Sequence[JsonObject] = ()) -> None:
        self.dialect = dialect
        self._tools, self._family = Tools(tools), _FAMILIES[dialect]
        self._marks = MARKS.get(dialect, Marks(()))
        begin = [re.escape(mark) for mark in self._marks.openings]
        self._begin = re.compile("|".join([*begin, *filter(None, [self._family.begin])]), re.DOTALL)
        self._says = re.compile(self._family.says, re.DOTALL) if self._family.says else None
        within = [rf"{_QUOTE}(?P<call>{self._family.within})"] if self._family.within else []
        self._within = re.compile(rf"(?=[`\"'“‘<\[A])(?:{'|'.join([*within, MARK_PATTERN])})", re.MULTILINE)

    def read(self, text: str) -> Reading | None:
        """Read a reply; thinking is stripped first.

        Args:
            text: The policy's unmodified output.

        Returns:
            Its calls, or what is wrong with them; ``None`` if it is no attempt at calls in this dialect.
        """
        start = 0
        for _ in range(_MOST_TRIES):
            start = after_thinking(text, start)
            at = self._find(text, start)
            read = None if at is None else self._try(text, at)
            again = thinking_end(text, start if at is None else read[1] if isinstance(read, tuple) else at)
            if again is not None:  # what stands before it was thought
                start = again
            elif at is None:
                return self._message(text, start)
            elif isinstance(read, tuple):
                return self._conclude(text, start, at, *read)
            else:
                return None if read is None else Reading(read)
        what = f"The reply ends its thinking more than {_MOST_TRIES} times."
        return Reading(broken("malformed_call", what))

    def _find(self, text: str, start: int) -> int | None:
        """Where the calls begin, outside of thinking."""
        if self._begin.match(text, start):
            return start
        while mark := self._within.search(text, start):
            found = mark.groupdict()
            if found.get("call") is not None:
                if found["quote"] is None:
                    return mark.start()
                start = mark.end()
                continue
            closing = THINKING.get(mark.group())
            if closing is None:  # the caller goes on behind it
                return None
            close = text.find(closing, mark.end())
            if close < 0:
                return None
            start = close + len(closing)
        return None

    def _try(self, text: str, at: int) -> tuple[list[ToolCall], int] | ActionError:
        try:
            return self._family.read(text, at, self._tools)
        except JsonProblem as problem:
            cut = problem.position is not None and problem.position >= len(text.rstrip())
            lead = f"The call in the dialect {NAMES[self.dialect]} cannot be read"
            return broken_json("unclosed_call" if cut else "malformed_call", lead, problem, text)
        except ActionError as error:
            return error

    def _conclude(self, text: str, start: int, at: int, calls: list[ToolCall], end: int) -> Reading | None:
        beside = _CHANNEL.sub("", strip_thinking(text[start:at])).strip()
        over = _OVER.match(text, end)
        end = over.end() if over else end
        observation, rest = _OBSERVATION.match(text, end), text[end:]
        if observation is None and strip_thinking(rest).strip():
            own_line = "\n" in rest[: len(rest) - len(rest.lstrip())]
            if beside or not (own_line or text.startswith(self._marks.openings, at)):
                return None  # a message that quotes a call
            what = f"There is more behind the calls in the dialect {NAMES[self.dialect]}, near {rest.strip()[:30]!r}."
            return Reading(broken("malformed_call", what))
        invented = observation is not None and bool(text[observation.end() :].strip())
        return Reading(Calls(tuple(calls), beside), invented)

    def _message(self, text: str, start: int) -> Reading | None:
        """What a reply without calls is: the error for one that breaks off within its first mark, or a message."""
        said = text[start:].strip()
        if said[:1] in ("<", "`") and any(mark.startswith(said) for mark in self._marks.openings):
            return Reading(broken("unclosed_call", "The reply breaks off inside the mark of a tool call."))
        over = None if self._says is None else self._says.match(said)
        message = "" if over is None else strip_thinking(over[1]).strip()
        return Reading(Say(message)) if message else None


def invents(grammar: Grammar, dialect: DialectReader | None) -> Callable[[str], bool] | None:
    """A function that finds whether an action invents an observation, which was cut off; ``None`` if nothing is cut.

    Args:
        grammar: The grammar of the actions.
        dialect: Reads them first, if there is one.
    """
    own: Callable[[str], bool] | None = getattr(grammar, "invents", None)
    if dialect is None:
        return own

    def found(text: str) -> bool:
        reading = dialect.read(text)
        return reading.invented if reading is not None else own is not None and own(text)

    return found
