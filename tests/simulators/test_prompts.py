from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simia_gym.errors import InputError
from simia_gym.prompts import PromptFile, load_prompt, prompt_problems

SIMULATORS = ("simulator_ledger", "simulator_reference", "errors_terse", "errors_explain")


@pytest.mark.parametrize("name", SIMULATORS)
def test_they_name_no_domain(name: str) -> None:
    assert not re.search(r"retail|webshop|office|airline|\borders\b|refund", load_prompt(name).text, re.IGNORECASE)


def test_a_domains_own_file_takes_the_place(tmp_path: Path) -> None:
    (tmp_path / "prompts").mkdir()
    own = tmp_path / "prompts" / "errors_terse.md"
    assert load_prompt("errors_terse", tmp_path) == load_prompt("errors_terse")
    own.write_text("Say: {{word}}")
    prompt = load_prompt("errors_terse", tmp_path)
    assert prompt.path == own
    assert prompt.fill(word="no", other="unused") == "Say: no"


@pytest.mark.parametrize("name", ["simulator_leger", "../errors_terse", "errors_terse.md", ""])
def test_an_unknown_prompt_is_named(name: str) -> None:
    with pytest.raises(InputError, match=re.escape(repr(name))):
        load_prompt(name)


def test_a_file_that_is_no_text_is_named(tmp_path: Path) -> None:
    (tmp_path / "prompts").mkdir()
    (tmp_path / "prompts" / "errors_terse.md").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match=r"errors_terse\.md"):
        load_prompt("errors_terse", tmp_path)


def test_a_misspelt_file_of_a_domain_is_found(tmp_path: Path) -> None:
    assert prompt_problems(tmp_path) == []
    (tmp_path / "prompts").mkdir()
    for name in ("errors_terse.md", "simulator_leger.md"):
        (tmp_path / "prompts" / name).write_text("x")
    (problem,) = prompt_problems(tmp_path)
    assert problem.where.endswith("simulator_leger.md")


_VALUE = st.text(alphabet="ab{} _", max_size=12) | st.just("{{policy}}") | st.just("{{errors}}")


@given(st.lists(st.sampled_from(["{{policy}}", "{{ errors }}", "text ", "{", "}"]), max_size=8), _VALUE, _VALUE)
def test_filling_is_one_pass(pieces: list[str], policy: str, errors: str) -> None:
    text = " ".join(pieces)
    filled = PromptFile(Path("x.md"), text).fill(policy=policy, errors=errors)
    known = {"{{policy}}": policy, "{{ errors }}": errors}
    assert filled == " ".join(known.get(piece, piece) for piece in pieces)
