"""What the published scores of recorded steps say of players whose worth is known.

    python benchmarks/recorded_steps.py [--tasks 300] [--out FILE]

The recordings are gold runs of generated test tasks on the own sites, written in the release's form and read back.
A perfect player always chooses the recorded element if it is asked about; another one clicks on whatever stands first;
a third one chooses none. Candidates are ranked by words.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape, quoteattr

import simia_gym  # noqa: F401 (registers the environments)
from simia_gym.domain.domain import Domain
from simia_gym.domain.loading import load_domain
from simia_gym.domain.registration import domain_path
from simia_gym.envs.mind2web.browser.tree import Element
from simia_gym.envs.mind2web.recorded.data import Step
from simia_gym.envs.mind2web.recorded.metrics import summary
from simia_gym.envs.mind2web.recorded.opened import open_recordings, page_of
from simia_gym.envs.mind2web.recorded.ranks import recalls
from simia_gym.envs.mind2web.recorded.tournament import NO_CHOICE, Choice, Prediction, Tournament
from simia_gym.envs.mind2web.screen import choices_of, open_page, session_of
from simia_gym.types import Task, ToolCall

OPS = {"click": "CLICK", "select": "SELECT", "type": "TYPE"}
Player = Callable[[Step, set[str], tuple[str, ...]], Choice]


def perfect(step: Step, right: set[str], query: tuple[str, ...]) -> Choice:
    """Chooses the recorded element where it is among the choices."""
    place = next((n for n, name in enumerate(query) if name in right), None)
    return NO_CHOICE if place is None else Choice("BCDEF"[place], step.op, step.value)


PLAYERS: dict[str, Player] = {
    "perfect": perfect,
    "always clicks on the first": lambda step, right, query: Choice("B", "CLICK", ""),
    "always none": lambda step, right, query: NO_CHOICE,
}


def recorded(domain: Domain, task: Task) -> dict[str, Any]:
    """The gold run of a task in the release's form."""
    assert domain.world is not None
    state, reprs, actions = domain.begun(task), list[str](), list[dict[str, Any]]()
    for made in task.gold:
        call = ToolCall(made["name"], made["arguments"])
        if call.name in OPS:
            session = session_of(state)
            opened = open_page(state, session)
            node = choices_of(opened, session).nodes[call.arguments["choice"]]
            value = str(call.arguments.get("value", ""))
            op = OPS[call.name]
            rows = {
                each.number: candidate(each.number, each.element) for each in opened.page.nodes.values() if each.kind
            }
            reprs.append(f"{opened.line(node)} -> {op}" + (f": {value}" if value else ""))
            actions.append(
                {
                    "action_uid": f"{task.id}-{len(actions)}",
                    "cleaned_html": html(opened.page.body, count()),
                    "operation": {"op": op, "original_op": op, "value": value},
                    "pos_candidates": [rows.pop(node.number)],
                    "neg_candidates": [*rows.values()],
                }
            )
        state = domain.world.call(state, call).state or state
    site = str(task.options["site"])
    names = {"annotation_id": task.id, "website": site, "domain": "own", "subdomain": site}
    return {**names, "confirmed_task": task.instruction, "action_reprs": reprs, "actions": actions}


def candidate(number: int, element: Element) -> dict[str, str]:
    """An element as a candidate."""
    return {"tag": element.tag, "attributes": json.dumps(dict(element.attributes)), "backend_node_id": str(number)}


def html(element: Element, numbers: Any) -> str:
    """An element in the form of `cleaned_html`."""
    given = {"backend_node_id": str(next(numbers))}
    given |= {name.replace("-", "_"): value for name, value in element.attributes if name not in ("id", "for", "href")}
    inner = "".join(
        html(child, numbers) if isinstance(child, Element) else f'<text backend_node_id="0">{escape(child)}</text>'
        for child in element.children
    )
    marks = "".join(f" {name}={quoteattr(value)}" for name, value in given.items())
    return f"<{element.tag}{marks}>{inner}</{element.tag}>"


def play(step: Step, asked: list[str], player: Player, *, published: bool) -> Prediction | None:
    """What a player has chosen in the end."""
    right = {each.id for each in step.right()}
    match = Tournament(asked, page_order=page_of(step).ordered(asked), seed=step.key, published=published)
    while match.query is not None:
        match.answer(player(step, right, match.query))
    return match.prediction


def main() -> None:
    """Measure, print, and write the result."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", type=int, default=300)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/recorded_steps.json"))
    args = parser.parse_args()
    domain = load_domain(domain_path("simia/mind2web-v0"))
    assert domain.generator is not None
    tasks = [recorded(domain, domain.generator("test", number)) for number in range(args.tasks)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "test.json"
        path.write_text(json.dumps(tasks), encoding="utf-8")
        data = open_recordings(path)
        ranked = {key: data.ranked(key) for key in data.steps}
        rights = {key: {each.id for each in step.right()} for key, (_, step) in data.steps.items()}
        found: dict[str, Any] = {
            "tasks": len(tasks),
            "steps": len(ranked),
            "candidates": sum(map(len, ranked.values())) / len(ranked),
            "clicks": sum(step.op == "CLICK" for _, step in data.steps.values()) / len(ranked),
            "recall": recalls((ranked[key], rights[key]) for key in ranked),
        }
        for top_k in (5, 10, 50):
            best = {key: names[:top_k] for key, names in ranked.items()}
            for name, player in PLAYERS.items():
                for published in (True, False):
                    chosen = {
                        key: play(step, best[key], player, published=published) for key, (_, step) in data.steps.items()
                    }
                    sets = {key: set(names) for key, names in best.items()}
                    scores = summary(data.tasks, chosen, published=published, best=sets)
                    found[f"{name}, top {top_k}, {'published' if published else 'sound'}"] = scores
    print(json.dumps(found, indent=2))
    args.out.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
