"""Random texts are as random as they look."""

from collections import Counter

from calor.server.resources.heat.random_string import (
    CLASSES,
    CharacterClass,
    CharacterSequence,
    RandomStringProps,
    generate,
)


def test_f170_characters_of_overlapping_classes_are_equally_likely() -> None:
    """Chi-square over a million characters; digits are in both classes, and one of them is asked for."""
    classes = (CharacterClass(class_="lettersdigits", min=1), CharacterClass(class_="digits", min=1))
    want = RandomStringProps(length=512, character_classes=classes)
    rounds = 2000
    seen = Counter(letter for _ in range(rounds) for letter in generate(want))
    everything = CLASSES["lettersdigits"]
    assert set(seen) == set(everything)
    expected = {letter: rounds * (511 / 62 + (letter in CLASSES["digits"]) / 10) for letter in everything}
    deviation = sum((seen[letter] - expected[letter]) ** 2 / expected[letter] for letter in everything)
    assert deviation < 140  # 61 degrees of freedom: once in ten million


def test_a_sequence_may_weigh_its_characters_by_repeating_them() -> None:
    want = RandomStringProps(
        length=500, character_classes=(), character_sequences=(CharacterSequence(sequence="aaab", min=1),)
    )
    share = sum(generate(want).count("b") for _ in range(40)) / 20_000
    assert 0.22 < share < 0.28
