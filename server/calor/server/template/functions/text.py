"""Functions that make text: join, split, replace, digest, URL."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any

from calor.server.template.functions.base import Evaluation, Function, Refused, is_call
from calor.server.template.functions.bounds import check_length
from calor.server.template.values import UNKNOWN, Plain, Secret, has_secret, has_unknown, reveal, secret_leaves, shape


def as_json(value: Any) -> str:
    """JSON text of a map or list inside text: keys sorted, so that it is always the same."""
    return json.dumps(value, sort_keys=True)


class Join(Function):
    """``[delimiter, list]``: items are text or nothing."""

    __slots__ = ()
    embeds = True
    most: int | None = 2
    takes_json = False

    def check(self) -> Iterator[str]:
        if not isinstance(self.args, list) or len(self.args) < 2 or (self.most and len(self.args) > self.most):
            yield "takes a list of a delimiter and a list of texts."
        elif not isinstance(self.args[0], str) and not is_call(self.args[0]):
            yield f"the delimiter must be text, not {shape(self.args[0])}."

    def evaluate(self, args: Any, at: Evaluation) -> Any:
        if not isinstance(args, list) or len(args) < 2:
            raise Refused("takes a list of a delimiter and a list of texts.")
        delimiter, *lists = args
        if not isinstance(delimiter, str):
            raise Refused(f"the delimiter must be text, not {shape(delimiter)}.")
        items: list[str] = []
        for part in lists:
            if part is None or (self.takes_json and not part):
                continue
            if not isinstance(part, list):
                raise Refused(f"the items to join must be a list, not {shape(part)}.")
            items.extend(self._text(item) for item in part)
        check_length(sum(map(len, items)) + len(delimiter) * len(items))
        return delimiter.join(items)

    def _text(self, item: Any) -> str:
        if item is None:
            return ""
        if isinstance(item, str):
            return item
        if self.takes_json and isinstance(item, Mapping | list):
            return as_json(item)
        raise Refused(f"an item to join must be text, not {shape(item)}.")


class JoinMany(Join):
    """As of 2015-10-15: several lists; maps and lists among the items become JSON."""

    __slots__ = ()
    most = None
    takes_json = True


class Split(Function):
    """``[delimiter, text, index?]``."""

    __slots__ = ()

    def check(self) -> Iterator[str]:
        if not is_call(self.args) and not (isinstance(self.args, list) and len(self.args) >= 2):
            yield "takes a list of a delimiter, a text and (optional) an index."

    def evaluate(self, args: Any, at: Evaluation) -> Any:
        if not isinstance(args, list) or len(args) < 2:
            raise Refused("takes a list of a delimiter, a text and (optional) an index.")
        delimiter, text, *index = args  # what comes after the index counts for nothing, as in Heat
        if text is None:
            return None
        if not isinstance(delimiter, str | None) or not isinstance(text, str):
            raise Refused("the delimiter and the text must be text.")
        if delimiter == "":
            raise Refused("the delimiter is empty.")
        parts = text.split(delimiter)
        return _item(parts, index[0]) if index else parts


def _item(parts: list[str], index: Any) -> str:
    try:
        return parts[int(index)]
    except (TypeError, ValueError):
        raise Refused(f"the index must be a whole number, not {index!r}.") from None
    except IndexError:
        raise Refused(f"the index {index} is beyond the {len(parts)} parts.") from None


def replace_all(template: str, values: Mapping[str, str]) -> tuple[str, frozenset[str]]:
    """Replace placeholders: longest first, then by alphabet; what was put in is never looked at again.

    Answers the text and the placeholders that were found. Raises `Refused` where the text would be too long.
    """
    pieces: list[tuple[str, bool]] = [(template, False)]
    found = set()
    for key in sorted(sorted(values), key=len, reverse=True):
        if any(key in text for text, done in pieces if not done):
            found.add(key)
            pieces = [new for piece in pieces for new in _cut(piece, key, values[key])]
    check_length(sum(len(text) for text, _ in pieces))
    return "".join(text for text, _ in pieces), frozenset(found)


def _cut(piece: tuple[str, bool], key: str, value: str) -> Iterator[tuple[str, bool]]:
    text, done = piece
    if done or key not in text:
        yield piece
        return
    first, *others = text.split(key)
    yield first, False
    for other in others:
        yield value, True
        yield other, False


class Replace(Function):
    """``{template: TEXT, params: {PLACEHOLDER: value}}``."""

    __slots__ = ()
    takes_json = False

    def check(self) -> Iterator[str]:
        if not isinstance(self.args, Mapping) or not {"template", "params"} <= set(self.args):
            yield "takes a map with the keys 'template' and 'params'."
            return
        if not isinstance(self.args["params"], Mapping) and not is_call(self.args["params"]):
            yield f"'params' must be a map, not {shape(self.args['params'])}."
        template = self.args["template"]
        if not isinstance(template, str | Plain) and not is_call(template):
            yield f"'template' must be text, not {shape(template)}."

    def _compute(self, args: Any, at: Evaluation) -> Any:
        # Not the base's: an unquoted number is wanted as text here, so `Plain` must still be there.
        if has_unknown(args):
            return UNKNOWN
        template, params = self.parts(args)
        if isinstance(params, Secret):
            params = params.value
        if not isinstance(params, Mapping):
            raise Refused(f"'params' must be a map, not {shape(params)}.")
        secret = has_secret(args)
        bare = template.value if isinstance(template, Secret) else template
        text = bare.text if isinstance(bare, Plain) else bare
        if not isinstance(text, str):
            raise Refused(f"'template' must be text, not {shape(bare)}.")
        values = {self._key(key): self._text(value) for key, value in params.items()}
        result = self.substitute(text, values)
        return Secret(result, _embedded(template, secret_leaves(params), result)) if secret else result

    def parts(self, args: Any) -> tuple[Any, Any]:
        if not isinstance(args, Mapping):
            raise Refused("takes a map with the keys 'template' and 'params'.")
        return args.get("template"), args.get("params")

    def substitute(self, template: str, values: Mapping[str, str]) -> str:
        return replace_all(template, values)[0]

    def _key(self, key: Any) -> str:
        if not isinstance(key, str) or not key:
            raise Refused(f"a placeholder must be text that is not empty, not {key!r}.")
        return key

    def _text(self, value: Any) -> str:
        if isinstance(value, Secret):
            value = value.value
        if isinstance(value, Plain):
            value = value.value if isinstance(value.value, bool) else value.text
        if value is None:
            return ""
        if isinstance(value, str | int | float):
            return str(value)
        if self.takes_json and isinstance(value, Mapping | list):
            return as_json(reveal(value))
        raise Refused(f"a value to put in must be text, a number or a boolean, not {shape(value)}.")


def _embedded(template: Any, put_in: list[str], result: str) -> list[str]:
    """The secrets that stand in a result as they are; none where what was replaced may have been a part of one."""
    if not isinstance(template, Secret):
        return put_in
    whole = all(result.count(part) >= str(template.value).count(part) for part in template.parts)
    return [*template.parts, *put_in] if template.parts and whole else []


class ReplaceJson(Replace):
    """As of 2015-10-15: maps and lists are put in as JSON."""

    __slots__ = ()
    takes_json = True


class ReplaceStrict(ReplaceJson):
    """A placeholder that the template does not have is an error."""

    __slots__ = ()

    def substitute(self, template: str, values: Mapping[str, str]) -> str:
        text, found = replace_all(template, values)
        unused = sorted(values.keys() - found)
        if unused:
            raise Refused(f"the template has no placeholder {', '.join(map(repr, unused))}.")
        return text


class ReplaceVeryStrict(ReplaceStrict):
    """An empty value is an error too."""

    __slots__ = ()

    def _text(self, value: Any) -> str:
        if reveal(value) in (None, "", [], {}):
            raise Refused("a value to put in is empty.")
        return super()._text(value)


class Digest(Function):
    """``[algorithm, text]``: the hash as lower-case hex."""

    __slots__ = ()

    def check(self) -> Iterator[str]:
        if is_call(self.args):
            return
        if not isinstance(self.args, list) or len(self.args) != 2:
            yield "takes a list of an algorithm and a text."
            return
        if isinstance(self.args[0], str) and self.args[0].lower() not in hashlib.algorithms_available:
            yield f"the algorithm {self.args[0]!r} is not known here."

    def evaluate(self, args: Any, at: Evaluation) -> Any:
        if not isinstance(args, list) or len(args) != 2 or not all(isinstance(part, str) for part in args):
            raise Refused("takes a list of an algorithm and a text.")
        algorithm, text = args
        if algorithm.lower() not in hashlib.algorithms_available:
            raise Refused(f"the algorithm {algorithm!r} is not known here.")
        try:
            return hashlib.new(algorithm.lower(), text.encode("latin-1")).hexdigest()
        except UnicodeEncodeError:
            raise Refused("the text has characters beyond Latin-1.") from None
        except TypeError:
            raise Refused(f"the algorithm {algorithm!r} needs a length, which cannot be given here.") from None


_UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-~")


def quoted(text: str, safe: str = "/") -> str:
    """Percent-encoded UTF-8 (RFC 3986), but for unreserved characters and those in ``safe``."""
    kept = _UNRESERVED | frozenset(safe.encode())
    return "".join(chr(byte) if byte in kept else f"%{byte:02X}" for byte in text.encode())


_URL_TEXTS = ("scheme", "username", "password", "host", "path", "fragment")
_URL_KEYS = ("scheme", "username", "password", "host", "port", "path", "query", "fragment")


class MakeUrl(Function):
    """A URL from its parts, each escaped as its place needs."""

    __slots__ = ()

    def check(self) -> Iterator[str]:
        if not isinstance(self.args, Mapping):
            yield f"takes a map of {', '.join(_URL_KEYS)}."
            return
        for key in self.args:
            if key not in _URL_KEYS:
                yield f"{key!r} is not a part of a URL; the parts are {', '.join(_URL_KEYS)}."
        for key in _URL_TEXTS:
            if key in self.args and not isinstance(self.args[key], str | Plain) and not is_call(self.args[key]):
                yield f"{key!r} must be text, not {shape(self.args[key])}."
        if "port" in self.args and self.args["port"] in (None, ""):
            yield "the port is empty."
        query = self.args.get("query", {})
        if not isinstance(query, Mapping) and not is_call(query):
            yield f"'query' must be a map, not {shape(query)}."

    def evaluate(self, args: Any, at: Evaluation) -> Any:
        if not isinstance(args, Mapping):
            raise Refused(f"takes a map of {', '.join(_URL_KEYS)}.")
        scheme = _part(args, "scheme")
        if ":" in scheme:
            raise Refused("the scheme must not have a colon.")
        authority, path, query = _authority(args), _part(args, "path"), _query(args.get("query", {}))
        fragment = quoted(_part(args, "fragment"))
        url = f"{scheme}:" if scheme else ""
        if authority or (scheme in _WITH_AUTHORITY and not path.startswith("//")):
            url += f"//{authority}"
            if path and not path.startswith("/"):
                path = f"/{path}"
        url += quoted(path)
        return url + (f"?{query}" if query else "") + (f"#{fragment}" if fragment else "")


_WITH_AUTHORITY = frozenset(
    "file ftp git git+ssh gopher http https imap mms nfs nntp prospero rsync rtsp rtspu sftp shttp snews svn svn+ssh "  # noqa: SIM905
    "telnet wais ws wss".split()
)
"""Schemes whose URLs have two slashes even where no host follows."""


def _part(args: Mapping[str, Any], key: str) -> str:
    value = args.get(key, "")
    if not isinstance(value, str):
        raise Refused(f"{key!r} must be text, not {shape(value)}.")
    return value


def _authority(args: Mapping[str, Any]) -> str:
    host, user = _part(args, "host"), quoted(_part(args, "username"), "")
    password, port = quoted(_part(args, "password"), ""), args.get("port", "")
    host = quoted(host, safe="[]:")
    text = f"[{host}]" if ":" in host and not host.startswith("[") else host
    if port != "":
        _check_port(port)
        text += f":{port}"
    if user or password:
        text = f"{user}{':' + password if password else ''}@{text}"
    return text


def _check_port(port: Any) -> None:
    try:
        number = int(port)
    except (TypeError, ValueError, OverflowError):
        raise Refused(f"the port must be a number, not {port!r}.") from None
    if not 1 <= number <= 65535:
        raise Refused(f"the port {number} is not between 1 and 65535.")


def _query(query: Any) -> str:
    if not isinstance(query, Mapping):
        raise Refused(f"'query' must be a map, not {shape(query)}.")
    pairs = (f"{quoted(str(key))}={quoted(str(value))}" for key, value in query.items())
    return "&".join(pairs).replace("%20", "+")
