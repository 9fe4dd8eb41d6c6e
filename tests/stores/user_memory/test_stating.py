import pytest

from ricordo.stores.user_memory.stating import statements


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("btw I hate flying", ["I hate flying"]),
        ("I love tea and I live in Rome.", ["I love tea", "I live in Rome."]),
        ("Sono vegetariano.", ["Sono vegetariano."]),
        ("我住在北京", ["我住在北京"]),
        ("Could you remember that I am vegan?", ["Could you remember that I am vegan?"]),
        ("Do you remember my name?", []),
        ("Can you remember my birthday?", []),
        ("Book me a flight to Tokyo", []),
        ('Launch the rocket from pad "B"', []),
        ("I would like to read the paper", []),
        ("Sum up our chat", []),
        ("My question is how it works.", []),
    ],
)
def test_what_the_user_states_of_themselves_is_told_from_questions_wishes_and_orders(
    text: str, told: list[str]
) -> None:
    assert statements(text) == told
