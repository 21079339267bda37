"""Understanding of English messages, shared by user simulators and rewards."""

from simia_gym.language.answer import Asserted
from simia_gym.language.beside import asks_beside, offers
from simia_gym.language.claim import Claim
from simia_gym.language.conversation import Act, Detail, Said, asked, asks_otherwise
from simia_gym.language.cue import Cue
from simia_gym.language.numbers import NUMBER_WORDS
from simia_gym.language.polarity import chosen, returned
from simia_gym.language.promise import Promise
from simia_gym.language.reading import Reading, read
from simia_gym.language.text import Sentence
from simia_gym.language.times import Time, times_in
from simia_gym.language.visible import visible
from simia_gym.language.vocabulary import DEEDS, VERBS
from simia_gym.language.wanted import contains_plainly, forms, wanted

__all__ = [
    "DEEDS",
    "NUMBER_WORDS",
    "VERBS",
    "Act",
    "Asserted",
    "Claim",
    "Cue",
    "Detail",
    "Promise",
    "Reading",
    "Said",
    "Sentence",
    "Time",
    "asked",
    "asks_beside",
    "asks_otherwise",
    "chosen",
    "contains_plainly",
    "forms",
    "offers",
    "read",
    "returned",
    "times_in",
    "visible",
    "wanted",
]
