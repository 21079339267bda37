"""The oracle as a teacher, in every world: what it writes is right, and what is spoiled on request is found."""

from __future__ import annotations

from random import Random

import pytest

from simia_gym.assembly.suite import Suite
from simia_gym.oracle.answering import Oracle
from simia_gym.oracle.options import OracleOptions, TeacherMistake
from simia_gym.synth.domains import subject_of_domain
from simia_gym.synth.prompt import teacher_prompt, variation
from simia_gym.trajectories.examine import examine
from simia_gym.trajectories.written import UnreadableText, from_text
from simia_gym.types import Message

from .table import World

REFERENCE: list[Message] = [{"role": "user", "content": "Hello."}, {"role": "assistant", "content": "Hello."}]
SEEN: tuple[TeacherMistake, ...] = ("missing_observation", "cut_end", "contradiction", "invented_id", "denied_write")


def taught(suite: Suite, options: OracleOptions, number: int) -> tuple[list[str], tuple[str, ...]]:
    """The findings in one trajectory, and the mistakes that were put into it."""
    subject = subject_of_domain(suite.config.env, suite.domain)
    prompt = teacher_prompt(subject.teaching, REFERENCE, variation(number, seed=0))
    answer = Oracle(options).answer(b'{"messages":%b}' % prompt.messages_json(), Random(number))
    try:
        found = [finding.code for finding in examine(from_text(answer.reply.text).messages, subject.tools)]
    except UnreadableText as error:
        found = [error.code]
    return found, answer.injected


@pytest.mark.parametrize("number", range(2))
@pytest.mark.sampled
def test_right_and_spoiled(registered: World, number: int) -> None:
    suite = registered.suite(simulator="world")
    assert taught(suite, OracleOptions(), number) == ([], ())
    for kind in SEEN:
        found, injected = taught(suite, OracleOptions(teacher_mistake_rate=1.0, teacher_mistakes=(kind,)), number)
        assert injected
        assert found, f"{injected} was not found"
