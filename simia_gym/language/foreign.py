"""Tells sentences in another language from English ones, by their function words and letters."""

from __future__ import annotations

import re

_WORD = re.compile(r"(?<![\w-])[^\W\d_]+(?:'[^\W\d_]+)?(?![\w-])")
_LATIN_LIMIT = "\u024f"
_MANY = 4
_LONG = 18
_THANKS = re.compile(
    r"\W*(?:\w+ )?(?:gracias|danke?|merci|obrigad[oa]|grazie) (?:por|fur|pour|pela|pelo|per|voor)(?: [^\W\d]+){1,2}\W*"
)
"""Thanks for something, which state nothing."""
_UNBROKEN = re.compile(rf"(?<![\w@.])[^\W\d_]{{{_LONG},}}(?![\w@]|\.\w)")

_ENGLISH_WORDS = (
    "a about after all also am an and any are as at be because been before but by can could did do does for from had"
    " has have he her here his how i if in into is it its just let me my no not now of on one only or our"
    " out please shall she should so some thank thanks that the their them then there these they this those to up us"
    " was we were what when where which who will with would you your yours i'm i've i'll it's you're we'll don't can't"
)
# Words without accents that English lacks, and that names of people and places lack.
_OTHER_WORDS = (
    "und ich wir sie ist sind habe haben wurde wurden werde werden wird nicht kein keine mit fur auf dem ein eine einen"
    " ihre ihren ihr ihnen sich auch aber trotzdem bitte kann konnen zu bei nach oder bestellung storniert erstattet"
    " erledigt geld gutschein"  # German
    " het een ik wij jij heb heeft hebben uw voor niet maar ook zijn deze wordt werd dat naar bestelling geannuleerd"
    " terugbetaald"  # Dutch
    " una que por para con su sus se ha hemos sido esta estan pero como mas ya lo todo tu usted fue hecho pedido"
    " cancelado cancelada reembolso reembolsado dinero devuelto"  # Spanish
    " nao uma seu sua foi eu voce em os ao ja tambem sera dinheiro"  # Portuguese
    " ho hai abbiamo il gli che non sono stato stata suo anche della dei delle nel alla questo ordine annullato"
    " rimborso rimborsato fatto"  # Italian
    " je vous nous votre vos les sont ete avons avez pas pour avec sur mais dans ce cette qui tout mon j'ai c'est"
    " n'est n'ai commande annule annulee rembourse remboursement fait"  # French
    " och att det som jag har inte av till er din jeg ikke til vi med deg blir"  # Swedish, Danish
    " nie jest zostalo zostal na juz ze pani"  # Polish
    " bir ve icin bu siz yang anda telah sudah untuk dengan tidak saya ini itu"  # Turkish, Indonesian
)
_ENGLISH = frozenset(_ENGLISH_WORDS.split())
_OTHER = frozenset(_OTHER_WORDS.split())


def foreign(plain: str) -> bool:
    """Whether a normalised sentence is not in English, or has no spaces; names, codes and tables are in no language."""
    pieces = set(plain.split())
    if len(max(pieces, key=len, default="")) >= _LONG and _UNBROKEN.search(plain):
        return True
    if plain.isascii() and len(pieces & _ENGLISH) > max(1, len(pieces) // 5):
        return False
    words = _WORD.findall(plain)
    if not plain.isascii():
        strange = sum(len(word) for word in words if max(word) > _LATIN_LIMIT)
        if strange >= _MANY and strange * 2 > sum(map(len, words)):
            return True
    other = sum(word in _OTHER for word in words)
    return other >= 2 and other > sum(word in _ENGLISH for word in words) and not _THANKS.fullmatch(plain)
