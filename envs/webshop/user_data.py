"""Loads a user's own WebShop files, which replace the shop's catalogue and goals.

The path is a product file (``items_shuffle.json``, ``items_shuffle_1000.json`` or any other name) or the folder it
lies in. Beside it may lie the published companions: ``items_ins_v2*.json`` (attributes, and one instruction for each
product) and ``items_human_ins.json`` (instructions written by people, with the option values they ask for). Goals come
from the human instructions where there are any, else from the others, else from the products' own attributes and
options. The published shop shuffles its goals with a fixed seed and keeps the first 500 for tests; here a goal belongs
to a split by its product, and the order is that of the files.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator

from simia_gym.common.files import read_json
from simia_gym.common.validation import validated
from simia_gym.domain.data import DomainData, files_hash
from simia_gym.envs.webshop.catalogue.catalogue import new_session
from simia_gym.envs.webshop.catalogue.products import normalise
from simia_gym.envs.webshop.goals import goal_for, make_task, price_words, sample_bound, split_of, usable_attributes
from simia_gym.errors import InputError
from simia_gym.types import JsonObject, Split, Task

_log = logging.getLogger(__name__)

_MOST_GOALS_OF_A_PRODUCT = 4
_HUMAN = "items_human_ins.json"
_ATTRIBUTES = "items_ins_v2*.json"


def _listed(value: Any) -> Any:
    return list(value.values()) if isinstance(value, Mapping) else value or []


_Texts = Annotated[list[str], BeforeValidator(_listed)]


class _Wish(BaseModel):
    """One instruction of a companion file, with what it asks for."""

    instruction: str
    instruction_attributes: _Texts = []
    instruction_options: _Texts = []


def load(path: Path) -> DomainData:
    """Load a product file, with goals made from its instructions or its products.

    Args:
        path: The file, or the folder it lies in.

    Returns:
        Products and tasks. Broken and repeated products are left out.

    Raises:
        InputError: A file is missing or of the wrong form, or no goal can be made; names file, place and fix.
    """
    file = _product_file(path)
    synthetic = _companion(file, _ATTRIBUTES)
    human = _companion(file, _HUMAN)
    instructions = _by_asin(synthetic)
    attributes = {
        asin: entry["attributes"]
        for asin, entry in instructions.items()
        if isinstance(entry, Mapping) and isinstance(entry.get("attributes"), list)
    }
    rows = read_products(file, attributes)
    wishes = _by_asin(human)
    makers = (
        lambda row: _human_goals(row, wishes, str(human)),
        lambda row: _synthetic_goals(row, instructions, str(synthetic)),
        _own_goals,
    )
    for maker in makers:
        tasks: dict[Split, list[Task]] = {"train": [], "test": []}
        for row in rows.values():
            for task in maker(row):
                tasks[task.split].append(task)
        if tasks["train"] or tasks["test"]:
            break
    else:
        fix = "Give products attributes, or put items_ins_v2.json or items_human_ins.json beside the file."
        raise InputError("no goal can be made from these products", where=str(file), fix=fix)
    return DomainData(
        tables={"products": rows, "session": {"main": new_session()}},
        tasks=tasks,
        hash=files_hash(each for each in (file, synthetic, human) if each is not None),
    )


def read_products(file: Path, attributes: Mapping[str, Any]) -> dict[str, JsonObject]:
    """Read a product file: normalised products by id, in file order; broken and repeated ones are left out.

    Args:
        file: A JSON array of products.
        attributes: Attribute phrases by product id, from a separate file; they replace the product's own.

    Raises:
        InputError: It is no JSON array, or not one entry can be used; names the first mistake.
    """
    fix = "Give a WebShop product file, such as items_shuffle_1000.json."
    items = validated(list[Any], read_json(file, what="product file"), where=str(file), fix=fix)
    rows: dict[str, JsonObject] = {}
    broken: list[InputError] = []
    for index, raw in enumerate(items):
        try:
            row = normalise(raw, where=f"{file}[{index}]")
        except InputError as error:
            broken.append(error)
            continue
        if row["asin"] in attributes:
            row["attributes"] = list(attributes[row["asin"]])
        rows.setdefault(row["asin"], row)
    if not rows:
        raise (
            broken[0] if broken else InputError("holds no products", where=str(file), fix="Give at least one product.")
        )
    repeated = len(items) - len(broken) - len(rows)
    if broken or repeated:
        first = f"; the first broken one: {broken[0]}" if broken else ""
        _log.warning("left out %d broken and %d repeated products%s", len(broken), repeated, first)
    return rows


def _product_file(path: Path) -> Path:
    if not path.is_dir():
        return path
    found = sorted(path.glob("items_shuffle*.json")) or sorted(
        file for file in path.glob("*.json") if file.name != _HUMAN and not file.match(_ATTRIBUTES)
    )
    if len(found) == 1:
        return found[0]
    what = f"holds {len(found)} product files: {', '.join(file.name for file in found)}" if found else "holds none"
    fix = "Name the product file itself, such as items_shuffle_1000.json."
    raise InputError(f"this folder {what}", where=str(path), fix=fix)


def _companion(file: Path, pattern: str) -> Path | None:
    """The companion of a product file; if there are several, the one whose name has the product file's ending."""
    found = sorted(other for other in file.parent.glob(pattern) if other != file)
    size = file.stem.rpartition("_")[2]
    alike = [other for other in found if size.isdigit() and other.stem.endswith(f"_{size}")]
    plain = [other for other in found if not other.stem.rpartition("_")[2].isdigit()]
    ranked = [*alike, *plain, *found]
    return ranked[0] if ranked else None


def _by_asin(file: Path | None) -> Mapping[str, Any]:
    if file is None:
        return {}
    fix = "Write {asin: ...}, as the published file does."
    value = validated(dict[str, Any], read_json(file, what="instruction file"), where=str(file), fix=fix)
    return {asin.strip().upper(): entry for asin, entry in value.items()}


def _human_goals(row: JsonObject, wishes: Mapping[str, Any], where: str) -> Iterator[Task]:
    """Goals from human instructions; those without attributes are skipped, as in the published shop."""
    for number, wish in enumerate(wishes.get(row["asin"], ())):
        place = f"{where}: {row['asin']}[{number}]"
        read = validated(_Wish, wish, where=place)
        if read.instruction_attributes:
            text = read.instruction.strip(".")
            yield _task(row, number, "human", text, read.instruction_attributes, read.instruction_options)


def _synthetic_goals(row: JsonObject, instructions: Mapping[str, Any], where: str) -> Iterator[Task]:
    """Goals from a product's instruction, with a few combinations of its options."""
    entry = instructions.get(row["asin"])
    if not isinstance(entry, Mapping) or not entry.get("instruction"):
        return
    read = validated(_Wish, entry, where=f"{where}: {row['asin']}")
    if read.instruction_attributes:
        yield from _with_options(row, "synthetic", read.instruction, read.instruction_attributes)


def _own_goals(row: JsonObject) -> Iterator[Task]:
    """Goals generated from the product's own attributes and options."""
    rng = _rng(row, 0)
    phrases = usable_attributes(row)
    if phrases and row["query"]:
        attributes = rng.sample(phrases, min(len(phrases), rng.choice((1, 2, 3))))
        yield from _with_options(row, "own", f"find me {', '.join(attributes)} {row['query']}", attributes)


def _with_options(row: JsonObject, kind: str, text: str, attributes: list[str]) -> Iterator[Task]:
    """One goal for each of a few combinations of option values, drawn from all of them."""
    named = {name: values for name, values in row["options"].items() if values}
    seen: set[tuple[str, ...]] = set()
    for number in range(_MOST_GOALS_OF_A_PRODUCT):
        rng = _rng(row, number)
        chosen = {name: rng.choice(values) for name, values in sorted(named.items())}
        combination = tuple(chosen.values())
        if combination not in seen:
            seen.add(combination)
            words = ", and ".join(f"{name}: {value}" for name, value in chosen.items())
            request = f"{text} with {words}" if words else text
            yield _task(row, number, kind, request, attributes, list(combination))


def _task(row: JsonObject, number: int, kind: str, text: str, attributes: list[str], options: list[str]) -> Task:
    split = split_of(row["asin"])
    bound = sample_bound(_rng(row, number), row["price"])
    goal = goal_for(row, attributes, options, bound)
    return make_task(f"{row['asin']}-{number}", split, kind, goal, (text + price_words(bound)).strip(), ())


def _rng(row: JsonObject, number: int) -> random.Random:
    return random.Random(f"goal {number} of {row['asin']}")
