"""Copies, tasks of benchmarks and names of people are found."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from simia_gym.errors import InputError
from simia_gym.trajectories.contamination import Benchmark, add_file, add_tasks
from simia_gym.trajectories.duplicates import Duplicates
from simia_gym.trajectories.redaction import redacted
from simia_gym.types import Message, Task

from .test_findings import call


def talk(*said: str) -> list[Message]:
    return [{"role": ("user", "assistant")[number % 2], "content": text} for number, text in enumerate(said)]


def test_copies_are_found_to_the_letter_and_nearly() -> None:
    pytest.importorskip("datasketch")
    words = [f"word{number} and" for number in range(80)]
    first, near = " ".join(words), " ".join([*words[:-1], "other"])
    exact, nearly = Duplicates(), Duplicates(0.8)
    for known in (exact, nearly):
        assert known.find("a", talk(first, "yes")) is None
        assert known.find("b", talk(first, "yes")) == ("duplicate", "a")
    assert exact.find("c", talk(near, "yes")) is None
    assert nearly.find("c", talk(near, "yes")) == ("near_duplicate", "a")
    assert nearly.find("d", talk("Something else is asked for here.", "no")) is None


@pytest.mark.parametrize("share", [-0.1, 1.5])
def test_a_share_is_a_share(share: float) -> None:
    with pytest.raises(InputError, match="share"):
        Duplicates(share)


def test_the_words_of_a_template_are_no_task() -> None:
    asked = "Hello, I would like to cancel my order number {} because I no longer need it at all."
    benchmark = Benchmark()
    add_tasks(
        benchmark, [Task(f"t{n}", "test", "cancel", instruction=asked.format(f"#W{n}70{n}")) for n in range(9)], "shop"
    )
    held = benchmark.find(talk(asked.format("#W3703"), "Done."))
    assert held is not None
    assert held[0] == "shop/t3"
    assert benchmark.find(talk(asked.format("#W5555"), "Done.")) is None


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("tasks.jsonl", b'{"id": 1, "question": "Which of the seven bridges of the town is the oldest one?"}\n'),
        ("tasks.json", b'[{"question": "Which of the seven bridges of the town is the oldest one?"}]'),
        ("tasks.txt", b"Which of the seven bridges of the town is the oldest one?\n"),
    ],
)
def test_files_of_benchmarks(tmp_path: Path, name: str, text: bytes) -> None:
    (tmp_path / name).write_bytes(text)
    benchmark = Benchmark()
    add_file(benchmark, tmp_path / name)
    assert (
        benchmark.find(talk("Which of the seven bridges of the town is the oldest one?", "The stone one.")) is not None
    )
    (tmp_path / name).write_bytes(b"{}\n" if name != "tasks.txt" else b"\n")
    with pytest.raises(InputError, match=name):
        add_file(Benchmark(), tmp_path / name)


def test_people_are_replaced_everywhere_by_the_same() -> None:
    person = {
        "user_id": "mara_quill_1234",
        "name": {"first_name": "Mara", "last_name": "Quill"},
        "phone": "0151 234567",
    }
    messages = [
        *talk("I'm Mara Quill, mara.quill@mail.net, call +1 555-123-4567.", "Thank you, Mara."),
        *call(1, "get_order", person, order_id="mara_quill_1234"),
        {"role": "assistant", "content": "Goodbye, Mara Quill. MARA!"},
    ]
    made, count = redacted(messages)
    text = orjson.dumps(made).decode().lower()
    assert count >= 5
    for secret in ("mara", "quill", "0151 234567", "555-123-4567"):
        assert secret not in text
    user = orjson.loads(made[3]["content"])["user_id"]
    assert made[2]["tool_calls"][0]["function"]["arguments"]["order_id"] == user
    assert redacted(messages) == (made, count)
    assert redacted(talk("Hello.", "Hello."))[1] == 0
