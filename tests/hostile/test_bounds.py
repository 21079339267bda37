"""What a server, a model, a policy or a file can send is read in time linear in its size.

The inputs of the first tests are so long that anything quadratic would not end; the floods count calls of functions.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

import gymnasium as gym
import pytest

from simia_gym.actions import Grammar, ToolsGrammar
from simia_gym.actions.strict_json import JsonProblem, decode_all
from simia_gym.common.files import Lines, read_yaml
from simia_gym.envs.webshop.grammar import WebshopGrammar
from simia_gym.errors import ActionError, DomainError
from simia_gym.language import read
from simia_gym.llm.structured import Form
from simia_gym.llm.transport.failures import KEPT, Failure, of_status
from simia_gym.llm.types import ReplySchema

from ..cli.conftest import Simia, desk, simia
from ..sweeps import sweep
from ..work import calls_in

__all__ = ["desk", "simia"]

FORM = Form(
    ReplySchema(
        "answer",
        {
            "type": "object",
            "properties": {"n": {"type": "integer"}, "texts": {"type": "array", "items": {"type": "string"}}},
            "required": ["n"],
            "additionalProperties": False,
        },
    )
)


@pytest.mark.parametrize("last", [0, 399_999])
def test_a_key_that_occurs_twice_among_many(last: int) -> None:
    keys = ",".join(f'"k{number}":1' for number in range(400_000))
    with pytest.raises(JsonProblem, match=f"'k{last}' occurs twice"):
        decode_all(f'{{{keys},"k{last}":1}}')


@pytest.mark.parametrize(
    "text",
    [
        f"[{'[],' * 1_000_000}[]]",
        f'{{"n":1,"texts":[{"1," * 1_000_000}1]}}',
        "{" + ",".join(f'"k{number}":1' for number in range(300_000)) + "}",
        "</think>{" * 300_000,
        "```{" * 500_000,
        '{"a": ' * 500_000,
        f'{{"n":{"1" * 3_000_000}}}',
        f'{{"n":0.{"1" * 3_000_000}}}',
        "[" * 3_000_000,
    ],
    ids=["lists", "items", "keys", "thinking", "fences", "objects", "integer", "fraction", "depth"],
)
@pytest.mark.slow
def test_a_long_reply_without_the_form(text: str) -> None:
    with pytest.raises(Failure) as caught:
        FORM.read(text)
    assert caught.value.kind == "bad_reply"
    assert len(caught.value.message) < 1000


@pytest.mark.parametrize(
    "body",
    [
        b'{"error":{"message":"%b"}}' % (b"model " * 1_500_000),
        b'{"error":{"message":"x","code":"%b","param":"%b"}}' % (b"max_tokens must be " * 200_000, b"y" * 4_000_000),
        b"[%b[]]" % (b"[]," * 1_000_000),
        b"<" * 9_000_000,
        b"model" * 1_800_000,
    ],
    ids=["message", "code", "lists", "tags", "text"],
)
def test_a_long_error_is_cut_before_it_is_looked_at(body: bytes) -> None:
    failure = of_status(400, body, {})
    assert len(failure.message) <= KEPT + len("HTTP 400: ")
    assert max(len(failure.code), len(failure.param)) <= KEPT


LAUGH = "a0: &a0 [x, x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]\n" for n in range(1, 40))
MERGE = "a0: &a0 {k: 1}\n" + "".join(f"a{n}: &a{n} {{<<: [*a{n - 1}, *a{n - 1}]}}\n" for n in range(1, 40))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (LAUGH, "aliases"),
        (MERGE, "aliases"),
        (f"a: 1{':1' * 500_000}", "number is too long"),
        (f"a: {'1' * 500_000}", "number is too long"),
        ("- " * 100_000 + "x", "nesting"),
        ("[" * 100_000, "nesting"),
    ],
    ids=["aliases", "merged keys", "base 60", "digits", "blocks", "brackets"],
)
def test_yaml_that_means_no_good(text: str, says: str, tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_text(text)
    with pytest.raises(DomainError, match=says):
        read_yaml(tmp_path / "x.yaml")


def test_the_places_of_many_mistakes_are_found_in_linear_time(tmp_path: Path) -> None:
    def work(keys: int) -> int:
        path = tmp_path / f"{keys}.yaml"
        path.write_text("".join(f"k{number}: 1\n" for number in range(keys)))
        lines = Lines(path)
        calls, found = calls_in(lambda: [lines.line([f"k{number}"]) for number in range(keys)])
        assert found == [f"{path}:{number}" for number in range(1, keys + 1)]
        return calls

    assert work(2000) < 3 * work(1000)


def test_aliases_of_people_are_read(tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_text("a: &a {x: 1, y: [2, 3]}\nb: {<<: *a, z: 4}\nc: [*a, *a]\n")
    shared = {"x": 1, "y": [2, 3]}
    assert read_yaml(tmp_path / "x.yaml") == {"a": shared, "b": {**shared, "z": 4}, "c": [shared] * 2}


def test_check_names_the_aliases(desk: str, simia: Simia) -> None:
    Path(desk, "rubric.yaml").write_text(LAUGH)
    done = simia("check", desk)
    assert (done.code, done.out) == (2, "")
    assert "aliases" in done.err


FLOODS = [
    *("Shall I? yes no. ", "#W1234567 $12.50 9 ", "I will cancel the order. ", "not not ", "What is your email? "),
    *("a, b, ", " ", "\n", "a", ".", '"', "can't won't ", "(", "or ", "\ufb01", "a\u0301", "\u200b", "а", "1"),
    *("I refund $12.50 to PayPal for order #W1234567. Do you confirm (yes/no)? ", "- x\n", "if you; ", "**", "a@"),
    *("<tool_call>", "<tool_call>{", "<tool_call>\n{}\n</tool_call>", "<think>", "</think>", "</think>{", "{```"),
    *("```json\n{", '{"name": ', "click[", "search[a]", '"</think>["', "[", '{"name": "x", "arguments": {}}'),
]


@pytest.mark.parametrize("unit", FLOODS)
@pytest.mark.parametrize("grammar", [ToolsGrammar(), WebshopGrammar()], ids=["tools", "webshop"])
def test_a_flood_in_an_action(grammar: Grammar, unit: str) -> None:
    def read(size: int) -> None:
        with contextlib.suppress(ActionError):
            grammar.parse(unit * (size // len(unit)))

    read(1000)
    assert calls_in(read, 80_000)[0] <= 2.5 * calls_in(read, 40_000)[0] + 200


@pytest.mark.parametrize("unit", sweep(FLOODS, 8))
def test_a_flood_in_the_users_hearing(unit: str) -> None:
    env = gym.make("simia/retail-v0", disable_env_checker=True).unwrapped

    def hear(size: int) -> int:
        env.reset(seed=3)
        return calls_in(env.step, unit * (size // len(unit)))[0]

    hear(1000)
    assert hear(24_000) <= 2.5 * hear(12_000) + 1000


@pytest.mark.parametrize(
    "unit", sweep([" ", "w", "&nbsp;", "or ", "$5 ", "may 5 ", "~~a ", "a_b_", "I will a ", "| ", "](", "#"], 3)
)
def test_what_stands_behind_a_flood_is_read(unit: str) -> None:
    reading = read(", " + unit * (200_000 // len(unit)) + "я!\nI will cancel it or return it.\nI have cancelled it.")
    assert [claim.deed for claim in reading.claims()] == ["cancelled"]
    assert [promise.deed for promise in reading.promises()] == ["cancelled"]
    assert reading.places
    assert reading.standing.parts
    assert not reading.charges
