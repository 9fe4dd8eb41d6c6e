"""What is the same, what is the opposite, and what has nothing to do with each other."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo.stores.user_memory.claims import about, parse
from ricordo.stores.user_memory.truth import Relation, may_replace, near, relation

SAME, CONTRADICTS, UNRELATED = Relation.SAME, Relation.CONTRADICTS, Relation.UNRELATED

CONTRADICTIONS = [
    ("The user hates jazz now and cannot stand it any more.", "The user loves jazz."),
    ("I can't stand jazz any more", "I love jazz"),
    ("The user isn't a fan of jazz any more", "I love jazz music"),
    ("The user hates salt and pepper", "The user loves salt and pepper"),
    ("The user hates jazz and loves blues", "The user loves jazz"),
    ("I hate jazz", "Loves jazz"),
    ("non sopporto più il jazz", "The user loves jazz."),
    ("L'utente non sopporta più il jazz.", "L'utente ama il jazz."),
    ("Non mi piace più il jazz", "Amo il jazz"),
    ("Odio il jazz", "Ama il jazz"),
    ("Ya no me gusta el jazz", "Me gusta el jazz"),
    ("Je n'aime plus le jazz", "J'aime le jazz"),
    ("Ich mag Jazz nicht mehr", "Ich liebe Jazz"),
    ("我不喜欢爵士乐了", "用户喜欢爵士乐"),
    ("The user no longer eats meat", "The user eats meat"),
    ("The user doesn't eat meat any more", "The user eats meat"),
    ("The user stopped smoking", "The user smokes"),
    ("The user used to smoke", "The user smokes"),
    ("The user is not vegetarian", "The user is vegetarian"),
    ("The user doesn't have a dog any more", "The user has a dog"),
    ("The user can't eat nuts", "The user can eat nuts"),
    ("non mangio più carne", "L'utente mangia carne"),
    ("L'utente è allergico alle arachidi", "L'utente non è allergico alle arachidi"),
    ("Never answer in English", "Always answer in English"),
    ("The user lives in Milan", "The user lives in Rome"),
    ("The user has just moved to Milan", "I live in Rome, Italy"),
    ("I moved to Milan last week", "The user lives in Rome"),
    ("L'utente abita a Milano", "The user lives in Rome"),
    ("The user no longer lives in Rome", "The user lives in Rome"),
    ("The user works at Acme", "The user works for Globex Corp."),
    ("L'utente lavora presso Acme", "L'utente lavora per Globex"),
    ("The user's name is Bob", "My name is Robert"),
    ("L'utente si chiama Bob", "Il nome dell'utente è Roberto"),
    ("The user's favourite colour is blue", "The user's favorite color is green."),
    ("Il colore preferito dell'utente è il blu", "Il mio colore preferito è il verde"),
    ("The user's email is a@x.com", "The user's e-mail address is b@y.com"),
    ("The user's phone number is 555", "user's phone: 556"),
    ("The user's birthday is 3 May", "The user was born on 4 May"),
    ("The user is 35 years old", "I am 34 years old"),
    ("The user's wife is called Anna", "The user's wife's name is Carla"),
    ("Anna lives in Turin", "Anna lives in Rome"),
]
DUPLICATES = [
    ("The user really loves jazz!", "the user loves jazz"),
    ("I love jazz", "The user loves jazz."),
    ("The user loves jazz a lot", "the user likes jazz"),
    ("Blue is the user's favorite color.", "The user's favourite colour is blue"),
    ("The user lives in Rome", "I live in Rome, Italy"),
    ("Mi piace molto il jazz", "L'utente ama il jazz"),
    ("Please remember that the user eats no meat", "The user eats no meat."),
]
STRANGERS = [
    ("The user hates jazz", "The user loves green tea"),
    ("The user hates jazz", "The user loves jazz dance"),
    ("The user hates some jazz", "The user loves jazz"),
    ("The user's wife hates jazz", "The user loves jazz"),
    ("She hates jazz", "The user loves jazz"),
    ("Anna hates Bob", "Bob loves Anna"),
    ("Bob is taller than Anna", "Anna is taller than Bob"),
    ("The user has a manager", "The user is a manager"),
    ("The user flies to Rome", "The user flies from Rome"),
    ("The user drinks coffee without sugar", "The user drinks coffee with sugar"),
    ("The user takes 5 mg of X", "The user takes 50 mg of X"),
    ("The user does not eat meat but eats fish", "The user eats meat but does not eat fish"),
    ("The user prefers tea to coffee", "The user prefers coffee to tea"),
    ("The user will quit smoking", "The user smokes"),
    ("The user did not go to the gym", "The user goes to the gym"),
    ("The user has a meeting on Friday", "The user has a meeting on Monday"),
    ("The user lives in Milan", "The user lives in Rome and works for Acme"),
    ("The user lives in Milan", "The user lived in Rome in 2010"),
    ("The user also lives in Milan", "The user lives in Rome"),
    ("The user lives in a flat", "The user lives in Rome"),
    ("The user moved to a new team", "The user lives in Rome"),
    ("The user works at night", "The user works for Globex Corp."),
    ("He lives in Milan", "The user lives in Rome"),
    ("The user's sister lives in Turin", "The user lives in Rome"),
    ("The user's wife's name is Anna", "The user's name is Bob"),
    ("The user's work email is a@x.com", "The user's email is b@y.com"),
    ("The user's favourite colour is blue", "The user's favourite film is Dune"),
    ("The user does not like jazz", "The user hates jazz"),
    ("我讨厌爵士乐", "用户喜欢绿茶"),
]


@pytest.mark.parametrize(("new", "old"), CONTRADICTIONS)
def test_the_opposite_contradicts(new: str, old: str) -> None:
    assert relation(parse(new), parse(old)) is CONTRADICTS


@pytest.mark.parametrize(("new", "old"), DUPLICATES)
def test_the_same_in_other_words_is_the_same(new: str, old: str) -> None:
    assert relation(parse(new), parse(old)) is SAME


@pytest.mark.parametrize(("new", "old"), STRANGERS)
def test_what_is_about_something_else_is_left_alone(new: str, old: str) -> None:
    assert relation(parse(new), parse(old)) is UNRELATED


TOPICS = [
    "jazz", "jazz dance", "green tea", "tea", "black coffee", "dogs", "cats", "long walks", "walks in the rain", "Rome",
    "Roman history", "chess", "opera", "horror films", "films", "spicy food", "Thai food", "Anna's cooking", "Mondays",
]  # fmt: skip
FORMS = [
    "The user loves {}.", "The user hates {}", "I like {} a lot", "I can't stand {} any more",
    "The user is tired of {}", "L'utente ama {}", "non sopporto più {}", "The user no longer talks about {}",
    "The user often talks about {}", "Anna loves {}", "The user's sister hates {}", "The user has a book on {}",
    "The user's favourite thing is {}",
]  # fmt: skip


def test_no_statement_of_one_topic_says_anything_about_another_topic() -> None:
    met = 0
    for (one, a), (other, b) in product(product(FORMS, TOPICS), repeat=2):
        if a != b and "favourite" not in one + other:
            met += 1
            assert relation(parse(one.format(a)), parse(other.format(b))) is UNRELATED, (one.format(a), other.format(b))
    assert met > 40_000


words = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=60)


@given(words, words)
def test_any_text_can_be_taken_apart_and_never_contradicts_itself(one: str, other: str) -> None:
    claim = parse(one)
    assert relation(claim, claim) in {SAME, UNRELATED}
    assert relation(parse(other), claim) in Relation


@given(
    st.lists(st.sampled_from(["moss", "fern", "kelp", "reed", "sedge", "rush"]), min_size=1, max_size=4, unique=True)
)
def test_only_the_very_same_topic_is_contradicted(topic: list[str]) -> None:
    old = parse(f"The user loves {' '.join(topic)}")
    assert relation(parse(f"The user hates {' '.join(topic)}"), old) is CONTRADICTS
    assert relation(parse(f"The user hates {' '.join([*topic, 'moor'])}"), old) is UNRELATED
    assert relation(parse(f"The user hates {' '.join(topic[1:]) or 'moor'}"), old) is UNRELATED


def test_what_the_user_said_only_the_user_changes() -> None:
    origins = ["user", "import", "agent", "tool"]
    allowed = {(new, old) for new, old in product(origins, repeat=2) if may_replace(new, old)}
    assert ("agent", "user") not in allowed
    assert ("tool", "user") not in allowed
    assert ("tool", "agent") not in allowed
    assert {("user", old) for old in origins} <= allowed


def test_a_model_is_believed_only_about_what_has_words_in_common() -> None:
    dark = parse("The user prefers dark mode in the editor")
    assert near(dark, parse("The user prefers light mode in the editor"))
    assert near(parse("The user moved to Milan"), parse("The user lives in Rome"))
    assert not near(dark, parse("The user has a dog called Rex"))


def test_what_a_text_is_about_leaves_out_its_side() -> None:
    assert about("The user can't stand loud jazz any more.") == about("I love loud jazz!") == {"loud", "jazz"}
