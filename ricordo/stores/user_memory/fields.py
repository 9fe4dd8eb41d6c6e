"""Fields of life: a request for a flight has to do with window seats, though no word and little meaning is shared.

A small embedding model cannot tell; the commonest words of each field can, in English, Italian, Spanish, French, German
and Chinese. Words stand for all that begin like them where they end in `*`.
"""

import math
import re
from functools import lru_cache

from ricordo.stores.user_memory.signs import fold

_FIELDS = {
    "travel": """flight* fly flying flies plane* airplane* aeroplane* airline* airport* seat seats aisle layover*
    luggage boarding trip trips travel* journey* train trains holiday* vacation* cruise* visa volo
    voli volare aereo aerei aeroporto finestrino corridoio viaggi* treno treni biglietto vacanz*
    bagagli* scalo vuelo* avion* aeropuerto asiento* ventanilla pasillo viaj* tren billete*
    vacaciones vol vols aeroport siege* hublot couloir voyag* billet* vacances flug* flieg*
    fensterplatz gangplatz reise* zug bahn fahrkarte* urlaub gepack*
    航班 机票 飞机 机场 座位 靠窗 旅行 火车 高铁 度假""",
    "lodging": """hotel* hostel* airbnb accommodation* motel* lodging* trip trips holiday* vacation* albergo alberghi
    ostello alloggi* camera camere stanza stanze vacanz* viaggi* habitacion* alojamiento* chambre*
    hebergement* zimmer unterkunft pension 酒店 旅馆 房间""",
    "food": """restaurant* dinner* lunch* breakfast* brunch* supper* recipe* cook* eat eats eating ate food* meal*
    dish dishes menu* allerg* peanut* nut nuts gluten* lactose vegan* vegetarian* halal kosher spicy
    snack* dessert* pizza* pasta meat fish cheese groceries ristorant* cena cene pranz* colazion*
    ricett* cucin* mangi* cibo cibi piatt* arachid* noci glutine lattosio vegetarian* piccant* carne
    pesce formaggi* spesa restaurante* cenar comida* comer receta* alerg* cocin* queso diner
    dejeuner recette* manger nourriture viande poisson fromage cuisin* essen abendessen mittagessen
    fruhstuck rezept* koch* fleisch fisch kase vegetarier* 餐厅 晚饭 午饭 早饭 菜 食物 过敏 素食 吃""",
    "drink": """wine* beer* coffee* tea teas cocktail* alcohol* drink* whisky dinner* vino vini birra birre caffe te
    alcol* bere bevo beve bevand* cena cerveza* cafe beber bebo alcohol vin vins biere boire bois
    wein* bier* kaffee tee trink* 酒 咖啡 茶 喝""",
    "music": """music* song songs album* playlist* concert* band bands jazz opera* composer* singer* guitar* piano*
    orchestra* musica* canzon* disco dischi concert* cantant* compositor* cancion* musique chanson*
    chanteu* lied* musik* komponist* 音乐 歌 歌剧 爵士""",
    "reading": """books novel* author* thriller* reading literature libro libri romanz* legge* lettura giall*
    scrittor* autor* libro* novela* leer livre* roman romans lire lecture buch bucher roman* lesen 书
    小说""",
    "films": """film* movie* cinema* netflix series actor* serie tv pelicula* cine kino* 电影 电视剧""",
    "exercise": """workout* gym gyms run running runner training trainer yoga tennis sport* swim* ski skiing exercis*
    marathon* fitness knee injur* allenament* palestra corr* corsa nuot* sci ginocchio
    entrenamiento* gimnasio natacion entrain* courir natation fitnessstudio laufen schwimm* 健身 跑步 运动""",
    "health": """doctor* medicine* medication* pill pills pharmac* dentist* health* diet* blood allerg* mg illness*
    medic* farmac* pillol* dentist* salute dieta sangu* sante medecin* medicament* arzt* zahnarzt*
    gesundheit 医生 药""",
    "clothes": """shoe* size sizes shirt* jacket* cloth* wear wears dress dresses trousers jeans sneaker* scarp*
    taglia magli* camici* vestit* indoss* giacc* pantalon* zapat* talla ropa chaussure* pointure
    vetement* schuh* kleid* 鞋 衣服 尺码""",
    "family": """gift* present presents birthday* daughter* son sons wife husband kid kids child children mother
    father sister* brother* parents regal* complean* figli* moglie marito bambin* madre padre
    sorell* fratell* genitor* hij* cumpleanos esposa ninos cadeau* anniversaire fille fils femme
    mari enfant* geschenk* geburtstag* tochter sohn frau mann kind kinder 礼物 生日 女儿 儿子 妻子 丈夫 孩子""",
    "pets": """dog dogs cat cats pet pets vet vets puppy kitten* labrador* cane cani gatto gatti veterinari* perro*
    gato* chien* chat chats hund* katze* tierarzt 狗 猫""",
    "car": """car cars drive* driving tyre* tire tires garage* petrol parking auto automobil* macchin* guid* gomme
    parchegg* coche* conduc* voiture* condui* pneu* reifen autofahr* 汽车 开车""",
    "home": """live* moved city weather abit* citta vivo viv* trasferit* habit* wohn* apartment* flat flats house
    houses furniture garden* rent sofa* casa case appartament* mobil* giardin* affitt* departamento
    muebles jardin* meuble* maison* wohnung* haus mobel garten 房子 家具 公寓""",
    "work": """meeting* calendar* schedul* appointment* colleague* boss office* job jobs cv resume career*
    employer* riunion* appuntament* calendari* ufficio collegh* lavor* carriera reunion* cita
    oficina trabaj* rendez bureau travail termin* buro arbeit* besprechung* 会议 工作 办公室""",
    "writing": """email* letter* reply replies answer* tone formal informal sentences style mail lettera lettere
    rispo* tono formale frasi carta responde* courrier lettre* reponse* brief* antwort* 邮件 回答""",
    "programming": """code coding python rust javascript typescript java script* program* editor* function* bug bugs
    framework* database* postgresql debian linux codice programmare programmo programmazione codigo
    logiciel* 代码 编程""",
    "money": """budget* bank* invest* price* saving* loan* banca banche invest* prezz* risparmi* mutuo banco
    presupuesto precio* banque prix preis* 预算 银行""",
}
_BOOK = r"(?:a|an|any|good|new|next|this|that|which|what|some|favou?rite) book"  # the noun; `book a table` is none


def _pattern(words: str) -> str:
    """Return a pattern of some words, each whole unless it ends in `*`."""
    each = [re.escape(word.rstrip("*")) + ("" if word.endswith("*") else r"\b") for word in words.split()]
    latin, other = [w for w in each if w[0].isascii()], [w.removesuffix(r"\b") for w in each if not w[0].isascii()]
    return "|".join([rf"\b(?:{'|'.join(latin)})", *other])


_FIELD = {1: 5.0, 0: 0.0, -1: -2.0}
"""What agreement adds to the log-odds of closeness, measured like its other weights."""
_KNOWN = {
    name: re.compile(_pattern(words) + (rf"|\b{_BOOK}\b" if name == "reading" else ""))
    for name, words in _FIELDS.items()
}


def agreement(one: str, other: str) -> int:
    """Return 1 where two texts touch the same field, -1 where each touches others, 0 where that cannot be told."""
    a, b = fields_of(one), fields_of(other)
    return (1 if a & b else -1) if a and b else 0


def in_its_field(closeness: float, query: str, content: str) -> float:
    """Return a closeness, greater within a field of life and smaller across two.

    Args:
        closeness: By meaning and words, 0 to 1.
        query: What is asked.
        content: A memory.
    """
    odds = closeness * math.exp(_FIELD[agreement(query, content)])
    return odds / (1 - closeness + odds)


@lru_cache(maxsize=4096)
def fields_of(text: str) -> frozenset[str]:
    """Return the fields of life that a text touches.

    >>> sorted(fields_of("Book me a flight to NYC")), sorted(fields_of("Preferisco il posto al finestrino"))
    (['travel'], ['travel'])
    """
    plain = fold(text[:_MOST])
    return frozenset(name for name, pattern in _KNOWN.items() if pattern.search(plain))


_MOST = 4_000
"""Characters that are looked at: a memory has no more."""
