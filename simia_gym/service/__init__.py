"""Customer service from one declaration: what customers may want, and what the rules say about it.

A *wish* is something that a customer may ask for. It has *slots* (details that the customer tells) and ordered
*rules*. A rule is a function ``(case) -> None | No``: it looks at tool results with ``case.read`` and at what the
customer wants with ``case.slot``, and objects with `No`. The same function serves twice:

* the generator of tasks runs it on the true state (`decide` with every read and slot known), which gives gold
  calls, refusals and the evidence that the rubric asks for;
* the `ServiceExpert` runs it on what the conversation has shown. What is not known yet raises `Need`, which is the
  expert's next call or question. So it never uses what it has not seen.

A *breach* changes the drawn rows or slots so that one rule must object; every rule of a wish needs one. An *edge*
changes them so that the wish is only just allowed. Both are proven whenever a task is drawn: a rule with a moved
threshold fails there. The *cast* draws people and ids. Words, patterns and the order of rules stand in
``service.yaml``; tools, rules and drawing are Python.

The customer's script is made before any decision and from the same distributions, so that what he says does not tell
whether his wish is allowed.
"""

from simia_gym.service.bent import Bent
from simia_gym.service.case import Case, Need, No, Option
from simia_gym.service.cast import Cast, Drawn, Member
from simia_gym.service.criteria import rubric
from simia_gym.service.decide import Answer, Grant, Refusal, decide
from simia_gym.service.expert import Pushover, ServiceExpert
from simia_gym.service.generate import Generator, write_fixed
from simia_gym.service.reading import named_in
from simia_gym.service.service import Service, load_service

__all__ = [
    "Answer",
    "Bent",
    "Case",
    "Cast",
    "Drawn",
    "Generator",
    "Grant",
    "Member",
    "Need",
    "No",
    "Option",
    "Pushover",
    "Refusal",
    "Service",
    "ServiceExpert",
    "decide",
    "load_service",
    "named_in",
    "rubric",
    "write_fixed",
]
