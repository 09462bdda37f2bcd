"""Functions on maps and lists: merge, concatenate, filter, replace, repeat."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from calor.server.template.functions.base import Evaluation, Function, Refused, is_call
from calor.server.template.functions.bounds import check_length, check_rows, check_weight
from calor.server.template.values import UNKNOWN, Plain, Secret, has_secret, has_unknown, plain, reveal, shape


def bare(value: Any) -> Any:
    """The value under a secret or an unquoted scalar, one level deep."""
    while isinstance(value, Secret | Plain):
        value = value.value
    return value


def wrapped(result: Any, *, secret: bool) -> Any:
    return Secret(result) if secret else result


class MapMerge(Function):
    """A list of maps, merged; the later wins; nothing among them is skipped."""

    __slots__ = ()
    keeps_structure = True

    def evaluate(self, args: Any, at: Evaluation) -> Any:
        items = bare(args)
        if items is UNKNOWN:
            return UNKNOWN
        if not isinstance(items, list) and items != "":
            raise Refused(f"takes a list of maps, not {shape(items)}.")
        merged: dict[Any, Any] = {}
        for item in items or ():
            part = bare(item)
            if part is UNKNOWN:
                return UNKNOWN
            if part is None:
                continue
            if not isinstance(part, Mapping):
                raise Refused(f"takes a list of maps, but an item is {shape(part)}.")
            hides = isinstance(item, Secret) or isinstance(args, Secret)
            merged.update({key: wrapped(value, secret=hides) for key, value in part.items()})
        return merged


class MapReplace(Function):
    """``[map, {keys: {old: new}, values: {old: new}}]``."""

    __slots__ = ()

    def evaluate(self, args: Any, at: Evaluation) -> Any:
        if not isinstance(args, list) or len(args) != 2 or not isinstance(args[0], Mapping | None):
            raise Refused("takes a list of a map and a map of 'keys' and 'values' to replace.")
        items, rules = args
        keys, values = _replacements({} if rules is None else rules)
        found: dict[Any, Any] = {}
        old = items or {}
        for key, value in old.items():
            new = key if keys.get(key) is None else _hashable(keys[key])
            if (new != key and new in old) or new in found:
                raise Refused(f"the key {new!r} is there already.")
            found[new] = _lookup(values, value)
        check_weight(found)
        return found


def _replacements(rules: Any) -> tuple[Mapping[Any, Any], Mapping[Any, Any]]:
    if not isinstance(rules, Mapping):
        raise Refused(f"what to replace is a map of 'keys' and 'values', not {shape(rules)}.")
    for key in rules:
        if key not in ("keys", "values"):
            raise Refused(f"{key!r} is neither 'keys' nor 'values'.")
    keys, values = rules.get("keys"), rules.get("values")
    if not isinstance(keys, Mapping | None) or not isinstance(values, Mapping | None):
        raise Refused("'keys' and 'values' must be maps.")
    return keys or {}, values or {}


def _hashable(key: Any) -> Any:
    if isinstance(key, Mapping | list):
        raise Refused(f"a key must be text, not {shape(key)}.")
    return key


def _lookup(values: Mapping[Any, Any], value: Any) -> Any:
    return value if isinstance(value, Mapping | list) else values.get(value, value)


class ListConcat(Function):
    """A list of lists, one after the other; nothing among them is skipped."""

    __slots__ = ()
    keeps_structure = True

    def evaluate(self, args: Any, at: Evaluation) -> Any:
        lists = bare(args)
        if lists is UNKNOWN:
            return UNKNOWN
        if not isinstance(lists, list):
            raise Refused(f"takes a list of lists, not {shape(lists)}.")
        joined: list[Any] = []
        for item in lists:
            part = bare(item)
            if part is UNKNOWN:
                return UNKNOWN
            if part is None:
                continue
            if not isinstance(part, list):
                raise Refused(f"takes a list of lists, but an item is {shape(part)}.")
            hides = isinstance(item, Secret) or isinstance(args, Secret)
            joined.extend(wrapped(value, secret=hides) for value in part)
        return joined


class ListConcatUnique(ListConcat):
    """The same, without the equal items that come later."""

    __slots__ = ()

    def evaluate(self, args: Any, at: Evaluation) -> Any:
        joined = super().evaluate(args, at)
        if has_unknown(joined):
            return UNKNOWN
        return unique(joined)


def unique(items: Sequence[Any]) -> list[Any]:
    """The first of equal items; equality is the language's own (1 and true are equal)."""
    seen: set[Any] = set()
    rest: list[Any] = []  # what cannot be hashed
    found = []
    for item in items:
        value = reveal(item)
        try:
            if value in seen:
                continue
            seen.add(value)
        except TypeError:
            if value in rest:
                continue
            rest.append(value)
        found.append(item)
    return found


class Filter(Function):
    """``[values, list]``: the list without the values."""

    __slots__ = ()

    def check(self) -> Iterator[str]:
        if not isinstance(self.args, list) or len(self.args) != 2:
            yield "takes a list of the values to leave out and the list to filter."

    def evaluate(self, args: Any, at: Evaluation) -> Any:
        if not isinstance(args, list) or len(args) != 2:
            raise Refused("takes a list of the values to leave out and the list to filter.")
        values, items = args
        if not items:
            return items
        if not isinstance(items, list):
            raise Refused(f"filters a list, not {shape(items)}.")
        if not values:
            return items
        if not isinstance(values, list):
            raise Refused(f"the values to leave out must be a list, not {shape(values)}.")
        return [item for item in items if item not in values]


class Contains(Function):
    """``[value, list or text]``: whether the value is in it."""

    __slots__ = ()

    def check(self) -> Iterator[str]:
        if not isinstance(self.args, list) or len(self.args) != 2:
            yield "takes a list of a value and a list to look in."

    def evaluate(self, args: Any, at: Evaluation) -> Any:
        if not isinstance(args, list) or len(args) != 2:
            raise Refused("takes a list of a value and a list to look in.")
        value, where = args
        if isinstance(where, str):
            if not isinstance(value, str):
                raise Refused(f"in a text only a text can be looked for, not {shape(value)}.")
            return value in where
        if not isinstance(where, list):
            raise Refused(f"looks in a list or a text, not in {shape(where)}.")
        return value in where


class Repeat(Function):
    """``{template: …, for_each: {PLACEHOLDER: list}}``: the template for each combination of items."""

    __slots__ = ()
    keeps_structure = True
    takes_maps = False

    def check(self) -> Iterator[str]:
        if not isinstance(self.args, Mapping):
            yield "takes a map with the keys 'template' and 'for_each'."
            return
        if "template" not in self.args or "for_each" not in self.args:
            yield "needs the keys 'template' and 'for_each'."
        elif not isinstance(self.args["for_each"], Mapping) and not is_call(self.args["for_each"]):
            yield f"'for_each' must be a map, not {shape(self.args['for_each'])}."

    def evaluate(self, args: Any, at: Evaluation) -> Any:
        args = bare(args)
        if not isinstance(args, Mapping):
            raise Refused("takes a map with the keys 'template' and 'for_each'.")
        each = bare(args.get("for_each"))
        if each is UNKNOWN:
            return UNKNOWN
        if not isinstance(each, Mapping):
            raise Refused(f"'for_each' must be a map, not {shape(each)}.")
        if not each:
            raise Refused("'for_each' is empty.")
        secret = has_secret(each)
        values = [self._values(placeholder, reveal(items)) for placeholder, items in each.items()]
        if has_unknown(values):
            return UNKNOWN
        template = args.get("template")
        check_rows(template, values if self.is_product(args) else values[:1])
        found = [_fill(template, dict(zip(each, row, strict=True))) for row in self.rows(each, values, args)]
        return Secret(found) if secret else found

    def _values(self, placeholder: Any, items: Any) -> Any:
        if not isinstance(placeholder, str):
            raise Refused("a placeholder must be text.")
        if items is None:
            return []
        if isinstance(items, Mapping) and self.takes_maps:
            return list(items)
        if items is UNKNOWN or isinstance(items, list):
            return items
        raise Refused(f"the items for {placeholder!r} must be a list, not {shape(items)}.")

    def is_product(self, args: Mapping[str, Any]) -> bool:
        """Whether each item of a list is combined with each of the others."""
        return True

    def rows(self, each: Mapping[Any, Any], values: list[Any], args: Mapping[str, Any]) -> Iterator[Sequence[Any]]:
        return iter(itertools.product(*values))


class RepeatMaps(Repeat):
    """As of 2016-10-14: a map stands for the list of its keys."""

    __slots__ = ()
    takes_maps = True


class RepeatPermutations(RepeatMaps):
    """As of 2017-09-01: ``permutations: false`` goes through equally long lists side by side."""

    __slots__ = ()

    def check(self) -> Iterator[str]:
        yield from super().check()
        if isinstance(self.args, Mapping):
            value = plain(self.args.get("permutations", True))
            if not isinstance(value, bool):
                yield f"'permutations' must be true or false, not {shape(value)}."

    def is_product(self, args: Mapping[str, Any]) -> bool:
        return bare(args.get("permutations", True)) is not False

    def rows(self, each: Mapping[Any, Any], values: list[Any], args: Mapping[str, Any]) -> Iterator[Sequence[Any]]:
        if self.is_product(args):
            return super().rows(each, values, args)
        if any(isinstance(bare(items), Mapping) for items in each.values()):
            raise Refused("with 'permutations: false' the items must be lists, not maps.")
        if not all(values):
            return iter(())
        if len({len(items) for items in values}) > 1:
            raise Refused("with 'permutations: false' the lists must be equally long.")
        return iter(zip(*values, strict=True))


def _fill(template: Any, row: Mapping[str, Any]) -> Any:
    """The template with the placeholders of one row replaced, in texts, keys and items."""
    if isinstance(template, str):
        return _replace(template, row)
    if isinstance(template, Mapping):
        return {_fill(key, row): _fill(value, row) for key, value in template.items()}
    if isinstance(template, list):
        return [_fill(value, row) for value in template]
    if isinstance(template, Secret):
        return Secret(_fill(template.value, row))
    return template


def _replace(text: str, row: Mapping[str, Any]) -> str:
    """One placeholder after the other, as written (unlike ``str_replace``, later ones see what earlier put in). All
    items must be text, those too that this text has no place for."""
    for placeholder, value in row.items():
        if not isinstance(value, str):
            raise Refused(f"an item must be text, not {shape(value)}.")
        if placeholder in text:
            check_length(len(text) + text.count(placeholder) * len(value))
            text = text.replace(placeholder, value)
    return text
