"""Tells sentences in another language from English ones, by their function words and letters."""

from __future__ import annotations

import re

from simia_gym.language.text import Sentence

_WORD = re.compile(r"(?<![\w-])[^\W\d_]+(?:'[^\W\d_]+)?(?![\w-])")
_LATIN_LIMIT = "\u024f"
_MANY = 4
_LONG = 18
_WHOLE = 5
"""Words of a sentence, most of them in small letters, in which one of another language and none of English suffice."""
_THANKS = re.compile(
    r"\W*(?:\w+ )?(?:gracias|danke?|merci|obrigad[oa]|grazie) (?:por|fur|pour|pela|pelo|per|voor)(?: [^\W\d]+){1,2}\W*"
)
"""Thanks for something, which state nothing."""
_UNBROKEN = re.compile(rf"(?<![\w@.])[^\W\d_]{{{_LONG},}}(?![\w@]|\.\w)")

_ENGLISH_WORDS = (
    "about after all also and any are because been before but by could did does for from have he here his how if into"
    " it its just let my not now of one only our out please shall she should some thank thanks that the their them"
    " then there these they this those up us we were what when where which who with would you your yours i'm i've"
    " i'll it's you're we'll don't can't"
)
_SHARED_WORDS = "a am an as at be can do had has her i in is me no on or so to was will"
"""Words of English that are words of other languages, too."""
# Words without accents that English lacks, and that names of people and places lack.
_OTHER_WORDS = (
    "und ich wir sie ist sind habe haben wurde wurden werde werden wird nicht kein keine mit auf dem ein eine einen"
    " ihre ihren ihrer ihr ihnen sich auch aber trotzdem bitte kann konnen zu bei nach oder bestellung storniert"
    " erstattet erledigt geld gutschein schon alles wieder bis noch jetzt heute uns dass weil wenn etwas"  # German
    " het een ik wij jij heb heeft hebben uw voor niet maar ook zijn deze wordt werd dat naar bestelling geannuleerd"
    " terugbetaald zich geen onze weer nog bedrag gedaan terug"  # Dutch
    " un una que por para con su sus se ha han hemos sido esta estan pero como mas ya lo todo todas tu usted fue hecho"
    " pedido cancelado cancelada reembolso reembolsado dinero devuelto le nos muy este esto sobre cuando porque desde"
    " hasta nuestro nuestra hice hacer puedo ahora manana tarjeta dolares dias tambien"  # Spanish
    " nao uma seu sua foi eu voce em ao ja tambem sera dinheiro vou mais isso esse essa tudo pelo pela nosso nossa"
    " muito amanha agora cartao fiz quando ainda depois lhe"  # Portuguese
    " ho hai abbiamo il gli che sono stato stata suo anche della dei delle nel alla questo ordine annullato si ci"
    " rimborso rimborsato fatto tutto gia suoi sulla sul nella dal dalla subito entro domani piu ancora perche"
    " giorni soldi dollari buono"  # Italian
    " je vous nous votre vos les sont ete avons avez pas avec sur mais dans ce cette qui tout mon j'ai c'est"
    " n'est n'ai commande annule annulee rembourse remboursement fait ne au aux une deja demain jours sera"  # French
    " och att det som jag har inte av er din jeg ikke til vi med deg blir ett ska skal oss mig redan ocksa nagot"
    " tillbaka pengarna ditt dina og ble dere meg ogsa fra pa eller etter allerede likevel tilbake pengene kommer dit"
    " ikkje af blev alligevel tilbage penge efter ordren bestallning"  # Swedish, Norwegian, Danish
    " nie jest zostalo zostal zostala na juz ze pani sie dla pana jak tak przez tylko jeszcze za oraz panstwa"
    " dobrze zgodnie moge prosze wszystko zamowienie pieniadze zwrot karte dni"  # Polish
    " bir ve icin bu siz sizin cok daha sonra kadar olarak yine geri hemen simdi bugun yarin ettim edildi yaptim iptal"
    " tamam siparisiniz siparisinizi paraniz hesabiniza kartiniza"  # Turkish
    " yang anda telah sudah untuk dengan tidak saya ini itu dari akan kami kita juga pada bisa karena oleh jangan"
    " semua kembali besok pesanan uang kepada lagi"  # Indonesian
    " ja ei hyva mukaan etta olen olemme oli ovat mutta niin kuin myos joka mika tama minun sinun nyt viela kaikki"
    " sinulle teille rahat tilaus tilauksesi tilauksenne huomenna peruutettu saat saatte"  # Finnish
    " es egy nem hogy meg csak minden azt ezt mert lesz onnek ont onok penz penzt rendeles rendeleset megis"
    " szerint rendben nagyon holnap vissza akkor ami aki"  # Hungarian
    " nu cum este sunt ati cu mai dar pentru din prin sau fost acum totul acest aceasta dupa pana maine inapoi banii"
    " comanda anulat contul cardul dumneavoastra fara si"  # Romanian
    " toi cua duoc khong nhung cac nay trong voi vao tien nhe cung hoan moi nguoi da"  # Vietnamese
    " horosho spasibo ya vse vy vas vam vash vasha vashu vashi nash zakaz dengi uzhe tozhe takzhe dlya eto chto kak"
    " zavtra segodnya budet budut ili tolko sdelal"  # Russian in Latin letters
    " jsem jste jsme byl byla bylo bude budou jako uz vsechno nebo objednavku objednavka penize zitra"
    " jeste taky"  # Czech
    " smo ste su kao sve vec biti nije nisam novac narudzbu narudzba ipak sutra vasu vasoj vasa"  # Croatian
    " els amb fet seva aquest aquesta diners dema targeta molt tambe"  # Catalan
    " kwa kama kwenye yako zako lako wako yangu tayari kila kitu pesa fedha agizo kesho pia lakini hii sana"
    " yote"  # Swahili
    " ang mga ng ninyo inyo ako ko kayo namin hindi rin huwag lahat iyong sila"  # Tagalog
    " kai opos stin ston sto gia sas mas tha einai apo mou tou tora idi ola hrimata chrimata lefta avrio simera"
    " paraggelia paraggelias"  # Greek in Latin letters
)
_ENGLISH = frozenset(_ENGLISH_WORDS.split())
_SHARED = frozenset(_SHARED_WORDS.split())
_OTHER = frozenset(_OTHER_WORDS.split())


def foreign(sentence: Sentence) -> bool:
    """Whether a sentence is not in English, or has no spaces; names, codes and tables are in no language."""
    plain = sentence.plain
    pieces = set(plain.split())
    if len(max(pieces, key=len, default="")) >= _LONG and _UNBROKEN.search(plain):
        return True
    if plain.isascii() and pieces.isdisjoint(_OTHER) and not pieces.isdisjoint(_ENGLISH):
        return False
    words = _WORD.findall(plain)
    if not plain.isascii():
        strange = sum(len(word) for word in words if max(word) > _LATIN_LIMIT)
        if strange >= _MANY and strange * 2 > sum(map(len, words)):
            return True
    other = _OTHER.intersection(words)
    english = sum(word in _ENGLISH for word in words)
    if len(other) < 2:
        whole = len(words) >= _WHOLE and not english and _SHARED.isdisjoint(words) and len("".join(other)) > 2
        return whole and sum(word[0].islower() for word in sentence.said.split()) * 2 > len(words)
    return len(other) > english and not _THANKS.fullmatch(plain)
