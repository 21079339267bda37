"""Objects named by text."""

from __future__ import annotations

import json
import multiprocessing
import pickle
from pathlib import Path

import pytest

from simia_gym.common.dotted_names import load_object
from simia_gym.errors import InputError


def test_by_module() -> None:
    assert load_object("json:dumps") is json.dumps
    assert load_object("json.decoder:JSONDecoder.decode") is json.JSONDecoder.decode


def test_by_file(tmp_path: Path) -> None:
    (tmp_path / "near.py").write_text("VALUE = 7\n")
    (tmp_path / "world.py").write_text(
        "from __future__ import annotations\nfrom dataclasses import dataclass\nfrom .near import VALUE\n"
        "@dataclass\nclass World:\n    value: int = VALUE\n"
    )
    world = load_object("world.py:World", folder=tmp_path)
    assert isinstance(world, type)
    assert world().value == 7
    assert load_object("world.py:World", folder=tmp_path) is world
    assert pickle.loads(pickle.dumps(world())) == world()
    with multiprocessing.get_context("fork").Pool(1) as pool:
        assert pool.apply(world, (9,)) == world(9)
    (tmp_path / "near.py").write_text("VALUE = 8\n")
    changed = load_object("world.py:World", folder=tmp_path)
    assert isinstance(changed, type)
    assert changed().value == 8
    assert world().value == 7


def test_files_of_the_same_name_are_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for folder, value in (("a", 1), ("b", 2)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "one.py").write_text(f"VALUE = {value}\n")
        assert load_object("one.py:VALUE", folder=tmp_path / folder) == value
        assert load_object(f"{folder}/one.py:VALUE") == value


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("json", "names no object"),
        (":dumps", "names no object"),
        ("json:du-mps", "names no object"),
        ("a b:c", "names no object"),
        ("no_such_module:X", "no module 'no_such_module'"),
        ("json.no_such:X", "no module 'json.no_such'"),
        ("json:dump_s", "has no 'dump_s'.*dumps"),
        ("missing.py:X", "there is no file"),
        ("broken.py:X", "broken.py, line 2: SyntaxError"),
        ("raises.py:X", "raises.py, line 3: ZeroDivisionError"),
        ("exits.py:X", "SystemExit"),
        ("needs.py:X", "no_such_package"),
        ("fine.py:Wrold", "It has: World"),
        (3, "not a text"),
    ],
)
def test_mistakes_are_named(tmp_path: Path, spec: str, words: str) -> None:
    (tmp_path / "broken.py").write_text("x = 1\ndef f(:\n")
    (tmp_path / "raises.py").write_text("def f():\n    pass\nX = 1 / 0\n")
    (tmp_path / "exits.py").write_text("import sys\nsys.exit(0)\n")
    (tmp_path / "needs.py").write_text("import no_such_package\n")
    (tmp_path / "fine.py").write_text("class World:\n    pass\n")
    with pytest.raises(InputError, match=words) as caught:
        load_object(spec, folder=tmp_path, where="domain.yaml: world")
    assert str(caught.value).startswith("domain.yaml: world: ")
    assert str(spec) in str(caught.value)
    assert caught.value.fix


def test_a_module_that_needs_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "wants_more.py").write_text("import no_such_package\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(InputError, match="wants_more needs the module 'no_such_package'"):
        load_object("wants_more:X")
