"""The grammar of the shell: a thought, then bash, an answer, or finish."""

from __future__ import annotations

import pytest

from simia_gym.envs.os.grammar import ActGrammar
from simia_gym.errors import ActionError, InputError
from simia_gym.types import Calls, ToolCall


def bash(script: str) -> ToolCall:
    return ToolCall("bash_action", {"script": script})


def answer(text: str) -> ToolCall:
    return ToolCall("answer_action", {"answer": text})


FINISH = ToolCall("finish_action", {})


@pytest.mark.parametrize(
    ("text", "call", "thought"),
    [
        ("Think: I look.\n\nAct: bash\n\n```bash\nls -la\n```", bash("ls -la"), "I look."),
        ("Act: bash\n```\nls\n```", bash("ls"), ""),
        ("**Act:** bash\n```sh\nls\n```\nThat lists them.", bash("ls"), ""),
        ("Act: bash\n```bash\ncd a\n```\nthen\n```bash\nls\n```", bash("cd a\nls"), ""),
        ("Act: bash\n```bash\necho 'Act: finish'\nAct: answer(1)\n```", bash("echo 'Act: finish'\nAct: answer(1)"), ""),
        ("Act: answer(42)", answer("42"), ""),
        ("Think: a (b)\nAct: answer( f(x) )", answer("f(x)"), "a (b)"),
        ("Act: finish", FINISH, ""),
        ("Act: finish\nThink again.\nAct: answer(no)", answer("no"), "Act: finish\nThink again."),
        ("<think>Act: finish</think>Act: answer(1)", answer("1"), ""),
    ],
)
def test_what_is_read(text: str, call: ToolCall, thought: str) -> None:
    read = ActGrammar().parse(text)
    assert isinstance(read, Calls)
    assert (read.calls, read.text) == ((call,), thought)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "empty_action"),
        ("<think>Act: finish</think>", "empty_action"),
        ("I would list the files.", "no_action"),
        ("```bash\nAct: finish\n```", "no_action"),
        ("Act: python", "unknown_action"),
        ("Act: bash\nls", "no_script"),
        ("Act: bash\n```bash\nls", "unclosed_call"),
        ("Act: answer 3", "bad_arguments"),
        ("Act: answer(3", "unclosed_call"),
    ],
)
def test_what_is_refused(text: str, code: str) -> None:
    with pytest.raises(ActionError) as caught:
        ActGrammar().parse(text)
    assert caught.value.code == code


@pytest.mark.parametrize("script", ["ls\n```\nrm -r /", "```bash"])
def test_what_cannot_be_written_is_no_action(script: str) -> None:
    with pytest.raises(InputError):
        ActGrammar().render(Calls((bash(script),)))
