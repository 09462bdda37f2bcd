"""OS::Heat::RandomString."""

import functools
import math
import secrets
import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from calor.server.resources.base import Context, ReferenceId, ResourceType
from calor.server.resources.declare import Alias, Hidden, attributes
from calor.server.template.properties import AllowedValues, AttributeSchema, Kind, Range, Support

CLASSES = {
    "lettersdigits": string.ascii_letters + string.digits,
    "letters": string.ascii_letters,
    "lowercase": string.ascii_lowercase,
    "uppercase": string.ascii_uppercase,
    "digits": string.digits,
    "hexdigits": string.digits + "ABCDEF",
    "octdigits": string.octdigits,
}


@dataclass(frozen=True, kw_only=True)
class CharacterClass:
    class_: Annotated[str, Alias("class"), AllowedValues(*CLASSES)] = "lettersdigits"
    min: Annotated[int, Range(1, 512)] = 1


@dataclass(frozen=True, kw_only=True)
class CharacterSequence:
    sequence: str
    min: Annotated[int, Range(1, 512)] = 1


@dataclass(frozen=True, kw_only=True)
class RandomStringProps:
    length: Annotated[int, Range(1, 512)] = 32
    sequence: Annotated[str | None, AllowedValues(*CLASSES), Hidden("5.0.0")] = None
    character_classes: tuple[CharacterClass, ...] = (CharacterClass(),)
    character_sequences: tuple[CharacterSequence, ...] | None = None
    salt: str | None = None


def generate(want: RandomStringProps) -> str:
    """A random text of ``want.length`` characters with the asked minimum of each class and sequence."""
    classes = want.character_classes
    if want.sequence is not None:
        classes = (CharacterClass(class_=want.sequence),)
    pools = [(CLASSES[one.class_], one.min) for one in classes]
    pools += [(one.sequence, one.min) for one in want.character_sequences or ()]
    chosen = [letter for pool, least in pools for letter in _drawn(pool, least)]
    everything = _union(tuple(pool for pool, _ in pools))
    chosen += _drawn(everything, want.length - len(chosen))
    return "".join(_shuffled(chosen))


def _drawn(pool: str, count: int) -> list[str]:
    """So many characters of a pool, each as likely as any other: the digits of one random number."""
    number, letters = secrets.randbelow(len(pool) ** count), []
    for _ in range(count):
        number, digit = divmod(number, len(pool))
        letters.append(pool[digit])
    return letters


def _shuffled(letters: list[str]) -> list[str]:
    """In an order drawn from all there are (Fisher and Yates, from one random number)."""
    number = secrets.randbelow(math.factorial(len(letters)))
    for last in range(len(letters) - 1, 0, -1):
        number, other = divmod(number, last + 1)
        letters[last], letters[other] = letters[other], letters[last]
    return letters


@functools.lru_cache(maxsize=64)
def _union(pools: tuple[str, ...]) -> str:
    """A character of several pools is no likelier than others; in a sequence it may be repeated on purpose."""
    everything = ""
    for pool in pools:
        everything += "".join(letter for letter in pool if letter not in everything)
    return everything


class RandomString(ResourceType[RandomStringProps]):
    """A random text, kept until the resource is replaced."""

    name, props = "OS::Heat::RandomString", RandomStringProps
    support = Support(since="2014.1")
    pure = instant = True
    reference_id = ReferenceId.OWN
    attributes = attributes(value=AttributeSchema(kind=Kind.STRING, cached=False))

    def validate(self, properties: Mapping[str, Any]) -> Sequence[str]:
        parts = [*_items(properties, "character_classes"), *_items(properties, "character_sequences")]
        least = sum(part.get("min", 1) for part in parts if isinstance(part.get("min", 1), int))
        length = properties.get("length", 32)
        if isinstance(length, int) and least > length:
            return [f"Length {length} is less than the {least} characters that the classes and sequences ask for."]
        return ()

    async def create(self, at: Context, want: RandomStringProps) -> str:
        me = at.me
        await at.remember(value=me.data.get("value") or generate(want))
        return me.physical_name

    async def reference(self, at: Context) -> str:
        me = at.me
        return str(me.data.get("value") or me.name)

    async def attribute(self, at: Context, was: RandomStringProps, name: str) -> Any:
        return at.me.data.get("value")


def _items(properties: Mapping[str, Any], name: str) -> Sequence[Mapping[str, Any]]:
    value = properties.get(name)
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []
