"""What differs by a sign, by case or by an accent is not the same."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo.stores.postgres.database import Database
from ricordo.stores.search.vectors import VectorMemory
from ricordo.stores.user_memory import rows
from ricordo.stores.user_memory.claims import normal, parse
from ricordo.stores.user_memory.signs import even
from ricordo.stores.user_memory.store import UserMemory
from ricordo.stores.user_memory.truth import Relation, relation
from ricordo.stores.user_memory.work import Said
from tests.support.small_embedder import small_embedder

CORRECTIONS = [
    ("My blood group is B+.", "My blood group is B-."),
    ("The user's blood type is A", "The user's blood type is AB"),
    ("My blood type is O+", "My blood type is 0+"),
    ("Il mio gruppo sanguigno è 0+.", "Il mio gruppo sanguigno è 0-."),
    ("Meine Blutgruppe ist A+", "Meine Blutgruppe ist A-"),
    ("Mi grupo sanguíneo es A+", "Mi grupo sanguíneo es A-"),
    ("Mon groupe sanguin est A+", "Mon groupe sanguin est A-"),
    ("My monthly budget is £1,200.", "My monthly budget is ¥1,200."),
    ("Il mio budget mensile è 300 €", "Il mio budget mensile è 300 $"),
    ("My height is 1.80 m", "My height is 180 m"),
    ("My nickname is @moss", "My nickname is #moss"),
    ("My username is mossFern", "My username is mossfern"),
    ("My username is moss_fern", "My username is moss-fern"),
    ("My Wi-Fi password is Kelp77", "My Wi-Fi password is kelp77"),
    ("My password is kelp", "My password is kelp!"),
    ("My password for the tide site is a;b", "My password for the tide site is a:b"),
    ("La mia password è fern%9", "La mia password è fern&9"),
    ("My API key is sk-AbC/1", "My API key is sk-AbC\\1"),
    ("My passport number is AB 12 34", "My passport number is AB 12 43"),
    ("La password del cancello è Fern", "La password del cancello è fern"),
    ("I live in Malmö", "I live in Malmo"),
    ("My name is Zoë", "My name is Zoe"),
]
BOTH = [
    ("I love F#.", "I love F."),
    ("I write C#", "I write C++"),
    ("I like vitamin B+", "I like vitamin B-"),
    ("The cellar must stay at -4 degrees.", "The cellar must stay at 4 degrees."),
    ("Warn me when the level is > 3.", "Warn me when the level is < 3."),
    ("Warn me when the level is ≥ 3.", "Warn me when the level is > 3."),
    ("The rent rose by 5%", "The rent rose by 5"),
    ("The tile is 3 m²", "The tile is 3 m2"),
    ("I follow @tern", "I follow #tern"),
    ("I read posts by @tern", "I read posts by @Tern"),
    ("The user trusts US papers", "The user trusts us papers"),
    ("I own 1½ acres", "I own 1 2 acres"),
    ("The user met Müller", "The user met Muller"),
    ("I take 5 mg at noon.", "I take 5 mg at night."),
    ("I build on .net", "I build on net"),
    ("Mi piace il C", "Mi piace il C++"),
    ("I hate C++", "I love C#"),
    ("My password is not kelp9", "My password is kelp9"),
    ("The wifi password is Kelp", "The wifi password is kelp"),
    ("Wifi password: kelp77", "Wifi password: Kelp77"),
    ("The gate's code is Ab", "The gate's code is aB"),
    ("The user met agent Reed7", "The user met agent reed7"),
]
SAME = [
    ("The cellar must stay at −4 degrees", "The cellar must stay at -4 degrees."),  # noqa: RUF001 - that is the point
    ("My blood type is A−", "My blood type is A-."),  # noqa: RUF001 - likewise
    ("The user LOVES Moss", "the user loves moss"),
    ("I like well-known songs", "I like well known songs"),
    ("My password is 'kelp'.", "The user's password is kelp"),
    ("The user's blood type is A", "My blood type is A"),
    ("The level is >3", "The level is > 3"),
    ("The wifi password is kelp", "the wifi password is kelp."),
]


@pytest.mark.parametrize(("old", "new"), CORRECTIONS)
def test_a_correction_of_what_there_is_one_of_replaces(old: str, new: str) -> None:
    assert normal(old) != normal(new)
    assert relation(parse(new), parse(old)) is Relation.CONTRADICTS
    assert relation(parse(old), parse(new)) is Relation.CONTRADICTS


@pytest.mark.parametrize(("one", "other"), BOTH)
def test_in_doubt_both_stay(one: str, other: str) -> None:
    assert normal(one) != normal(other)
    assert relation(parse(one), parse(other)) is Relation.UNRELATED


@pytest.mark.parametrize(("one", "other"), SAME)
def test_another_way_of_writing_it_is_the_same(one: str, other: str) -> None:
    assert normal(one) == normal(other) or relation(parse(one), parse(other)) is Relation.SAME


def test_dislike_is_heard_whatever_the_case_and_the_accents() -> None:
    assert relation(parse("Non mi piace il CAFFE"), parse("Mi piace il caffè")) is Relation.CONTRADICTS
    assert relation(parse("I don't like c++ any more"), parse("I love C++")) is Relation.CONTRADICTS


signs = st.sampled_from([*"+#@%&$€£<>=~^°", ""])


@given(st.sampled_from(["kelp", "Reed", "x", "7", "R2"]), signs, signs)
def test_one_sign_more_or_another_one_is_never_the_same(word: str, one: str, other: str) -> None:
    a, b = f"The user follows {one}{word}", f"The user follows {other}{word}"
    same = normal(a) == normal(b) or relation(parse(a), parse(b)) is Relation.SAME
    assert same == (one == other)


@given(st.text(max_size=80))
def test_evening_out_twice_changes_nothing_more(text: str) -> None:
    assert even(even(text)) == even(text)


async def contents(memory: UserMemory) -> list[str]:
    return sorted(row["content"] for row in await memory.list())


async def test_memory_keeps_both_or_the_correction(db: Database) -> None:
    memory = UserMemory(db, VectorMemory("user_memory", small_embedder()), "ada")
    for said in ("I love F#.", "I love F.", "My licence key is KE-1-lp.", "My licence key is ke-1-LP."):
        await memory.remember(Said(said))
    assert await contents(memory) == ["I love F#.", "I love F.", "My licence key is ke-1-LP."]


async def test_what_was_stored_when_case_made_no_difference_does_not_stand_in_the_way(db: Database) -> None:
    memory = UserMemory(db, VectorMemory("user_memory", small_embedder()), "ada")
    old = (await memory.remember(Said("I collect KeLp-7 labels"))).memory
    async with db.transaction("ada") as conn:
        small = rows.same_key("i collect kelp-7 labels")
        await conn.execute("UPDATE user_memory SET same = %s WHERE id = %s", (small, old["id"]))
    assert (await memory.remember(Said("i collect kelp-7 labels"))).what == "stored"
    assert (await memory.remember(Said("I collect KeLp-7 labels"))).what == "known"
    assert len(await memory.list()) == 2
