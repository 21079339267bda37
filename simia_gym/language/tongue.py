"""Tells sentences in another language from English ones, by their function words and letters."""

from __future__ import annotations

import re

_WORD = re.compile(r"(?<![\w-])[^\W\d_]+(?:'[^\W\d_]+)?(?![\w-])")
_LATIN_LIMIT = "\u024f"
_MANY = 4

_ENGLISH_WORDS = (
    "a about after all also am an and any are as at be because been before but by can could did do does for from had"
    " has have he her here his how i if in into is it its just let me my no not now of on one only or our"
    " out please shall she should so some thank thanks that the their them then there these they this those to up us"
    " was we were what when where which who will with would you your yours i'm i've i'll it's you're we'll don't can't"
)
# Words that English lacks, and that names of people and places lack.
_OTHER_WORDS = (
    "und ich wir sie ist sind habe haben wurde wurden werde werden wird nicht kein keine mit für auf dem ein eine einen"
    " ihre ihren ihr ihnen sich auch aber trotzdem bitte kann können zu bei nach oder"  # German
    " het een ik wij jij heb heeft hebben uw voor niet maar ook zijn deze wordt werd dat naar"  # Dutch
    " una que por para con su sus se ha hemos sido está están pero como más ya lo todo tu usted fue hecho"  # Spanish
    " não uma seu sua foi eu você mas em os ao já também será"  # Portuguese
    " ho hai abbiamo il gli che non sono stato stata suo anche della dei delle nel alla questo è"  # Italian
    " je vous nous votre vos les sont été avons avez pas pour avec sur mais dans ce cette qui tout mon j'ai c'est"
    " n'est n'ai"  # French
    " och att det som jag har inte för på av till er din jeg ikke til vi med deg blir"  # Swedish, Danish
    " nie jest zostało został się na już że pani"  # Polish
    " bir ve için bu siz yang anda telah sudah untuk dengan tidak saya ini itu"  # Turkish, Indonesian
)
_ENGLISH = frozenset(_ENGLISH_WORDS.split())
_OTHER = frozenset(_OTHER_WORDS.split())


def foreign(plain: str) -> bool:
    """Whether a normalised sentence is in another language than English; names, codes and tables are in none."""
    pieces = set(plain.split())
    if plain.isascii() and len(pieces & _ENGLISH) > max(1, len(pieces) // 5):
        return False
    words = _WORD.findall(plain)
    if not plain.isascii():
        strange = sum(len(word) for word in words if max(word) > _LATIN_LIMIT)
        if strange >= _MANY and strange * 2 > sum(map(len, words)):
            return True
    other = sum(word in _OTHER for word in words)
    return other >= 2 and other > sum(word in _ENGLISH for word in words)
