"""Functions that look something up: parameters, resources, attributes, files, the parent's resource."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

from calor.server.template.files import NotText, refusal
from calor.server.template.functions.base import Evaluation, Function, Refused, Site, is_call
from calor.server.template.model import DeletionPolicy, Reference
from calor.server.template.nearest import did_you_mean
from calor.server.template.source import Path
from calor.server.template.values import UNKNOWN, Plain, Secret, has_unknown, plain, reveal, shape


def select(value: Any, path: Sequence[Any], missing: Any = None, *, by_text: bool = False) -> Any:
    """The part of a value that a path leads to; ``missing`` where it leads nowhere. UNKNOWN has unknown parts.

    ``by_text``: a list takes a number written as text too (``get_param`` does, attributes do not).
    """
    for depth, key in enumerate(path):
        if isinstance(value, Plain):
            value = value.value
        if isinstance(value, Secret):
            return Secret(select(value.value, path[depth:], missing, by_text=by_text))
        if value is UNKNOWN:
            return UNKNOWN
        try:
            value = _step(value, key, by_text=by_text)
        except (LookupError, TypeError, ValueError):
            return missing
    return value


def _step(value: Any, key: Any, *, by_text: bool) -> Any:
    """One step. Raises `LookupError`, `TypeError` or `ValueError` where there is nothing."""
    if isinstance(value, Mapping):
        return value[key]
    if isinstance(value, list | tuple | str):
        if not isinstance(key, int) and not (by_text and isinstance(key, str)):
            raise TypeError(key)
        return value[int(key)]
    raise LookupError(key)


def as_names(args: Any) -> Any:
    """The arguments of a look-up: an unquoted ``on`` or ``1.10`` is wanted as the name that was written."""
    if isinstance(args, Plain):
        return args.text
    if isinstance(args, list):
        return [_as_key(part) for part in args]
    return args


def _as_key(part: Any) -> Any:
    if isinstance(part, Plain):
        return part.value if type(part.value) is int else part.text
    return part


class GetParam(Function):
    """``{get_param: NAME}`` or ``{get_param: [NAME, key or index, …]}``."""

    __slots__ = ()

    def __init__(self, name: str, args: Any, site: Site, path: Path) -> None:
        super().__init__(name, as_names(args), site, path)

    def check(self) -> Iterator[str]:
        name = self.args[0] if isinstance(self.args, list) and self.args else self.args
        if isinstance(name, str):
            if name not in self.site.names.parameters:
                yield f"there is no parameter {name!r}{did_you_mean(name, self.site.names.parameters)}."
        elif not is_call(name):
            yield "takes the name of a parameter, or a list of a name and the path into its value."

    def call(self, at: Evaluation) -> Any:
        at = at.within(self.home)
        args = at.value(self.args)
        if at.scope is None and _has_deferred(args):
            return self.waiting(args, at)
        return self.guard(lambda: self.evaluate(args, at))

    def evaluate(self, args: Any, at: Evaluation) -> Any:
        if has_unknown(args):
            return UNKNOWN
        args = reveal(args)
        name, path = (args[0], args[1:]) if isinstance(args, list) and args else (args, [])
        if not isinstance(name, str):
            raise Refused("takes the name of a parameter, or a list of a name and the path into its value.")
        if name not in at.parameters:
            raise Refused(f"there is no parameter {name!r}{did_you_mean(name, at.parameters)}.")
        return select(at.parameters[name], path, missing="", by_text=True)


def _has_deferred(args: Any) -> bool:
    from_list = args if isinstance(args, list) else [args]
    return any(is_call(part) for part in from_list)


class GetResource(Function):
    """``{get_resource: NAME}``: the reference id of a resource of this template."""

    __slots__ = ()
    is_deferred = True

    def __init__(self, name: str, args: Any, site: Site, path: Path) -> None:
        super().__init__(name, as_names(args), site, path)

    def check(self) -> Iterator[str]:
        if isinstance(self.args, str):
            if self.args not in self.site.names.resources:
                yield f"there is no resource {self.args!r}{did_you_mean(self.args, self.site.names.resources)}."
        elif not is_call(self.args):
            yield "takes the name of a resource."

    def own_references(self) -> Iterator[Reference]:
        if isinstance(self.args, str):
            yield Reference(self.args)

    def call(self, at: Evaluation) -> Any:
        at = at.within(self.home)
        args = plain(at.value(self.args))
        if isinstance(args, str):
            self.guard(lambda: _must_exist(args, self, at))
        elif isinstance(args, Mapping | list):
            raise self.fault(f"takes the name of a resource, not {shape(args)}.")
        if at.scope is None:
            return self.waiting(args, at)
        return self.guard(lambda: self.evaluate(args, at))

    def evaluate(self, args: Any, at: Evaluation) -> Any:
        if args is UNKNOWN:
            return UNKNOWN
        if not isinstance(args, str):
            raise Refused("takes the name of a resource.")
        _must_exist(args, self, at)
        return at.scope.reference(args) if at.scope else UNKNOWN


def _must_exist(name: str, call: Function, at: Evaluation) -> None:
    if name not in call.site.names.resources:
        raise Refused(f"there is no resource {name!r}{did_you_mean(name, call.site.names.resources)}.")
    if name in at.disabled:
        raise Refused(f"the resource {name!r} is switched off by its condition.")


def _must_be_name(attribute: Sequence[Any]) -> None:
    if attribute and isinstance(attribute[0], Mapping | list):
        raise Refused(f"the name of an attribute is text, not {shape(attribute[0])}.")


class GetAttr(Function):
    """``{get_attr: [NAME, attribute, key or index, …]}``; the path is the resource's to apply."""

    __slots__ = ()
    is_deferred = True
    fewest = 2
    checked_keys: ClassVar[int | None] = None
    """So many arguments must be names or numbers; a wrong one further on leads nowhere."""

    def __init__(self, name: str, args: Any, site: Site, path: Path) -> None:
        super().__init__(name, as_names(args), site, path)

    def check(self) -> Iterator[str]:
        if not isinstance(self.args, list) or len(self.args) < self.fewest:
            yield f"takes a list of a resource, an attribute{'' if self.fewest > 1 else ' (optional)'} and a path."
            return
        name = self.args[0]
        if isinstance(name, str) and name not in self.site.names.resources:
            yield f"there is no resource {name!r}{did_you_mean(name, self.site.names.resources)}."
        elif not isinstance(name, str) and not is_call(name):
            yield "the first item is the name of a resource."

    def own_references(self) -> Iterator[Reference]:
        if not isinstance(self.args, list) or not self.args or not isinstance(self.args[0], str):
            return
        path = list(self.args[1:])
        fixed = next((i for i, part in enumerate(path) if is_call(part) or isinstance(part, Mapping | list)), len(path))
        yield Reference(self.args[0], tuple(plain(path[:fixed])), fixed < len(path))

    def call(self, at: Evaluation) -> Any:
        at = at.within(self.home)
        args = plain(at.value(self.args))
        if isinstance(args, list) and args and isinstance(args[0], str):
            self.guard(lambda: _must_exist(args[0], self, at))
            self.guard(lambda: _must_be_name(args[1:2]))
        if at.scope is None:
            return self.waiting(args, at)
        return self.guard(lambda: self.evaluate(args, at))

    def evaluate(self, args: Any, at: Evaluation) -> Any:
        if has_unknown(args) or at.scope is None:
            return UNKNOWN
        args = reveal(args)
        if not isinstance(args, list) or len(args) < self.fewest or not isinstance(args[0], str):
            raise Refused("takes a list of a resource, an attribute and a path.")
        _must_exist(args[0], self, at)
        for key in args[1 : self.checked_keys]:
            if isinstance(key, Mapping | list):
                raise Refused(f"a path consists of names and numbers, not of {shape(key)}.")
        return self.fetch(args[0], args[1:], at)

    def fetch(self, name: str, path: Sequence[Any], at: Evaluation) -> Any:
        assert at.scope is not None
        return at.scope.attribute(name, path)


class GetAttrSelect(GetAttr):
    """As of 2013-05-23: the path is applied to the whole attribute."""

    __slots__ = ()
    checked_keys = 2

    def own_references(self) -> Iterator[Reference]:
        for use in super().own_references():
            yield Reference(use.resource, (use.path or ())[:1], dynamic=use.dynamic and not use.path)

    def fetch(self, name: str, path: Sequence[Any], at: Evaluation) -> Any:
        assert at.scope is not None
        return select(at.scope.attribute(name, path[:1]), path[1:])


class GetAttrAll(GetAttr):
    """As of 2015-10-15: the attribute may be left out, which asks for all of them."""

    __slots__ = ()
    fewest = 1

    def fetch(self, name: str, path: Sequence[Any], at: Evaluation) -> Any:
        return super().fetch(name, [] if path and path[0] is None else path, at)


class GetFile(Function):
    """A function for including a file inline.

    ``{get_file: NAME}``: the text of a file that came with the template. The first line is Heat's own: its clients'
    functional tests (heat-tempest-plugin, ``templates_list_template_functions``) ask for it word by word.
    """

    __slots__ = ()

    def check(self) -> Iterator[str]:
        if not isinstance(self.args, str) and not is_call(self.args):
            yield "takes the name of a file."

    def evaluate(self, args: Any, at: Evaluation) -> Any:
        if not isinstance(args, str):
            raise Refused("takes the name of a file.")
        if args not in at.files:
            raise Refused(f"the file {args!r} did not come with the request{did_you_mean(args, at.files)}.")
        if isinstance(at.files[args], NotText):
            raise Refused(refusal(args, at.files[args]))
        return at.files[args]


class ResourceFacade(Function):
    """A fact of the parent stack's resource that this template implements."""

    __slots__ = ()
    facts = {"metadata": "metadata", "deletion_policy": "deletion_policy", "update_policy": "update_policy"}  # noqa: RUF012

    def check(self) -> Iterator[str]:
        if not (isinstance(self.args, str) and self.args in self.facts):
            yield f"takes one of {', '.join(self.facts)}."

    def evaluate(self, args: Any, at: Evaluation) -> Any:
        if at.facade is None:
            raise Refused("works only in a template that implements a resource.")
        fact = self.facts[args]
        return at.facade.get(fact, DeletionPolicy.DELETE.value if fact == "deletion_policy" else {})


class CfnResourceFacade(ResourceFacade):
    """The same by CloudFormation's names."""

    __slots__ = ()
    facts = {"Metadata": "metadata", "DeletionPolicy": "deletion_policy", "UpdatePolicy": "update_policy"}  # noqa: RUF012
