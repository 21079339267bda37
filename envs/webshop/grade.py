"""The grade of an episode: the published reward of the purchase, with evidence in the record for every part."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from simia_gym.common.validation import validated
from simia_gym.envs.webshop.goals import Goal
from simia_gym.envs.webshop.scoring import Score, score
from simia_gym.errors import Fault
from simia_gym.record.finished_episode import FinishedEpisode
from simia_gym.rewards.finding import Grade, quote_call
from simia_gym.types import CriterionResult, Evidence, Row


def grade(finished: FinishedEpisode) -> Grade:
    """Grade an episode; the reward is 0 if nothing was bought.

    Returns:
        The reward with the published parts, and a criterion for each attribute, each option and the price. The value of
        a met criterion is the type factor, so that the mean of all criteria is the reward.

    Raises:
        Fault: The simulator kept no state, so the purchase is unknown.
    """
    if finished.stateless:
        message = "the simulator kept no state, so the purchase cannot be graded"
        raise Fault("no_state", message, role="judge")
    goal = validated(Goal, finished.task.options["goal"], where=f"task {finished.task.id}: goal")
    session = finished.final.get("session", "main")
    if session is None or not session["bought"]:
        return Grade(0.0, {"bought": None}, _unmet(goal), "Nothing was bought.")
    product = finished.final.get("products", session["asin"])
    assert product is not None
    chosen = dict(session["options"])
    result = score(product, goal, chosen)
    witness = _Witness(finished, session["asin"])
    reason = f"Bought {session['asin']}: type factor {result.kind.factor:g}, reward {result.reward:.4g}."
    return Grade(result.reward, _parts(result, goal, session), _criteria(result, product, chosen, witness), reason)


def _parts(result: Score, goal: Goal, session: Row) -> dict[str, Any]:
    """The parts under their published names, and the purchase."""
    attributes, options = len(goal.attributes), len(goal.goal_options)
    total = attributes + options + 1
    parts: dict[str, Any] = {
        "r_type": result.kind.factor,
        "query_match": result.kind.query_match,
        "category_match": result.kind.category_match,
        "title_score": result.kind.title_score,
        "r_att": sum(result.attributes[phrase] is not None for phrase in goal.attributes) / attributes,
        "w_att": attributes / total,
        "r_price": result.price_met,
        "w_price": 1 / total,
    }
    if options:
        parts["r_option"] = sum(own is not None for _, own in result.options) / options
        parts["w_option"] = options / total
    return {**parts, "bought": session["asin"], "options": dict(session["options"]), "price": result.price}


def _criteria(result: Score, product: Row, chosen: Mapping[str, str], witness: _Witness) -> tuple[CriterionResult, ...]:
    factor = result.kind.factor
    criteria = [_kind(result, witness)]
    for phrase, where in result.attributes.items():
        reason = f"The product does not have {phrase!r}."
        if where is not None:
            reason = f"The product has {phrase!r}: {where!r}."
        seen = witness.of_text(phrase if where in ("title", "features", "description") else where or phrase)
        criteria.append(_criterion(f"attribute: {phrase}", where is not None, factor, reason, seen))
    names = {value: name for name, value in chosen.items()}
    for wanted, own in result.options:
        if own is None:
            reason, seen = f"No chosen option meets {wanted!r}.", witness.of_choices(chosen)
        else:
            reason = f"Chosen {names[own]} {own!r} meets {wanted!r}."
            seen = witness.of_choices({names[own]: own})
        criteria.append(_criterion(f"option: {wanted}", own is not None, factor, reason, seen))
    relation = "is within" if result.price_met else "is above"
    reason = f"The price {result.price:.2f} {relation} the bound."
    seen = witness.of_text(f"Price: {product['price_tag']}")
    return (*criteria, _criterion("price", result.price_met, factor, reason, seen))


def _kind(result: Score, witness: _Witness) -> CriterionResult:
    kind = result.kind
    reason = (
        f"Type factor {kind.factor:g}: same query {kind.query_match}, same category {kind.category_match}, "
        f"share of the wanted title's nouns {kind.title_score:.2f}."
    )
    return CriterionResult("type", "goal", 0.0, False, kind.factor, kind.factor == 1.0, reason, witness.purchase)


def _criterion(name: str, met: bool, factor: float, reason: str, seen: Sequence[Evidence]) -> CriterionResult:
    return CriterionResult(name, "goal", 1.0, False, factor if met else 0.0, met, reason, tuple(seen))


def _unmet(goal: Goal) -> tuple[CriterionResult, ...]:
    names = [f"attribute: {phrase}" for phrase in goal.attributes]
    names += [*(f"option: {value}" for value in goal.goal_options), "price"]
    return tuple(_criterion(name, False, 0.0, "Nothing was bought.", ()) for name in names)


class _Witness:
    """Finds evidence in the record about the product that was bought."""

    def __init__(self, finished: FinishedEpisode, asin: str) -> None:
        self._finished = finished
        calls = finished.calls
        clicks = [call for call in calls if call.name == "click" and call.ok]
        opened = [call for call in clicks if str(call.arguments.get("value", "")).upper() == asin]
        self._last = clicks[-1].event if clicks else 0
        self._first = opened[-1].event if opened else 0
        self._pages: list[tuple[int, str]] = [
            (call.event, finished.events[call.event]["observation"])
            for call in calls
            if self._first <= call.event < self._last
        ]
        self.purchase = (quote_call(finished, clicks[-1]),) if clicks else ()

    def of_text(self, words: str) -> tuple[Evidence, ...]:
        """A page of the product that shows the words, ignoring letter case; else the purchase."""
        for event, text in self._pages:
            place = text.lower().find(words.lower())
            if place >= 0:
                return (Evidence(event, text[place : place + len(words)]),)
        return self.purchase

    def of_choices(self, chosen: Mapping[str, str]) -> tuple[Evidence, ...]:
        """The page after the purchase, if it names the chosen options; else the purchase."""
        page = self._finished.events[self._last].get("observation", "")
        quotes = [json.dumps({name: value})[1:-1] for name, value in chosen.items()]
        return tuple(Evidence(self._last, quote) for quote in quotes if quote in page) or self.purchase
