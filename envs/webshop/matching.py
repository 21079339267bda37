"""Text comparison of the published reward: fuzzy ratios, colours, and the nouns of a title."""

from __future__ import annotations

import re
from functools import lru_cache

from rapidfuzz import fuzz
from rapidfuzz.utils import default_process

THRESHOLD = 85
"""A ratio above this counts as a match."""


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


# The colour words that the published reward knows, in its order, which is alphabetical: the first one that occurs
# anywhere in an option value stands for the whole value. So "navy blue" counts as blue, and "standard" as tan.
COLORS = _words(
    """
    alabaster apricot aqua ash asphalt azure banana beige black blue blush bordeaux bronze brown burgundy camel
    camo caramel champagne charcoal cheetah chestnut chocolate christmas coffee cognac copper coral cranberry
    cream crystal dark denim eggplant elephant espresso fuchsia gold granite grape graphite grass gray green
    grey heather indigo ivory ivy khaki lavender lemon leopard light lilac lime magenta maroon mauve merlot
    midnight mint mocha multicolor mushroom mustard natural navy nude olive orange peach pewter pink plum purple
    rainbow red rose royal rust sand sapphire seashell silver skull slate steel stone stonewash sunflower tan
    taupe teal tiger turquoise violet walnut wheat white wine yellow
    """
)
_LATIN_1_TAIL = dict.fromkeys(range(128, 256))


# Without the caches of this module, WebShop plays 9% fewer steps a second.
@lru_cache(maxsize=65_536)
def similar(one: str, other: str) -> bool:
    """Whether two phrases match by the rule of the published reward.

    They match if thefuzz's ``token_set_ratio`` with default settings exceeds 85: characters 128 to 255 are dropped, the
    text is lower-cased, all but letters and digits become blanks, and the ratio is rounded to a whole number.
    """
    return round(fuzz.token_set_ratio(_processed(one), _processed(other))) > THRESHOLD


def _processed(text: str) -> str:
    return default_process(text.translate(_LATIN_1_TAIL))


def normalize_color(value: str) -> str:
    """The first known colour word that occurs in an option value, else the value itself."""
    return next((color for color in COLORS if color in value), value)


# The published reward tags parts of speech with a statistical model and keeps nouns and proper nouns. Here every word
# of a title counts as a noun unless it is a number, a function word, or a word that is nearly always an adjective,
# an adverb or a verb in titles, or ends like one. That is an approximation; it needs no model and never changes.
_FUNCTION_WORDS = frozenset(
    _words(
        """
        a about above after all also an and any are as at be below best between both but by can each every for from
        has have her his how i in into is it its just many more most much my no non not of off on only or other our
        out over own per so some such than that the their them these they this those through to too under up use
        used very via was we which while who will with within without you your
        """
    )
)
_ADJECTIVES = frozenset(
    _words(
        """
        adjustable absorbing adult anti athletic automatic basic big black blue bright brown built casual cheap
        classic clean clear cold colorful comfortable compact cool cordless crunchy chewy cute daily dark deep
        digital double dry dual durable easy elastic electric elegant extra fast flat flexible floral folding formal
        free fresh friendly full funny fuzzy gentle genuine gold gray green grey hard heavy high hot indoor
        insulated inner kind large light little long loose low magnetic mini modern moisturizing multiple multi
        natural new nice old open orange organic original outdoor perfect personalized pink plain plus pocket-sized
        portable premium professional protective pure purple quick quiet real red regular retro round safe secure
        sexy sharp short silver simple single skinny slim slip small smart smooth soft solid special sporty
        stainless standard strong super sweet tall thick thin tight tiny traditional true ultra unisex universal
        vintage vegan warm white wide wireless wooden yellow young
        """
    )
)
_SUFFIXES = ("able", "ible", "ful", "less", "ous", "ive", "proof", "resistant", "ly", "ish", "ized", "ated", "ing")
_NOUNS_DESPITE_SUFFIX = frozenset(
    _words(
        """
        archive bedding cable camping clothing coating cutting dish drive earring evening family fish fishing hiking
        jelly jogging king lighting lining morning olive padding painting parking polish ring running shopping
        sleeping string supply swimming table training vegetable walking wedding wing
        """
    )
)
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")


@lru_cache(maxsize=16_384)
def nouns(title: str) -> frozenset[str]:
    """The nouns of a product's title, in lower case: an approximation without a language model."""
    words = (word.lower() for word in _WORD.findall(title))
    return frozenset(word for word in words if _is_noun(word))


def _is_noun(word: str) -> bool:
    if len(word) < 2 or any(char.isdigit() for char in word):
        return False
    if word in _FUNCTION_WORDS or word in _ADJECTIVES:
        return False
    return word in _NOUNS_DESPITE_SUFFIX or not word.endswith(_SUFFIXES)
