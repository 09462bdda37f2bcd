"""TOSCA templates that people wrote, against the record of what Heat's tools made of each."""

import json
import logging
import multiprocessing
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from judging import Found, Judge, Verdict

from calor.server.errors import CalorError
from calor.server.template import Limits, parse_template
from calor.server.tosca import gather

LIMITS = Limits(size=4 << 20)
MAIN = "output.yaml"
"""What the record calls the translated template itself, beside nested ones."""


def verdicts(root: Path, records: Mapping[str, Any], judge: Judge) -> Iterator[Verdict]:
    """One verdict for whether a template is translated, and one for each field of what is made of it. What only
    declares types is left out: there is nothing to translate."""
    chosen = {
        name: record
        for name, record in records.items()
        if record["kind"] == "tosca" and record["stages"].get("translate") != "no topology"
    }
    if not chosen:
        return
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["calor.server.tosca.translation", "calor.server.template"])
    with context.Pool(2, maxtasksperchild=1) as pool:  # as in the product, no process translates two
        found = pool.starmap(_translated, [(root, name) for name in chosen], chunksize=1)
    for (name, record), (refusal, fields) in zip(chosen.items(), found, strict=True):
        is_translated = record["stages"].get("translate") == "ok"
        wanted: Any = True if is_translated else {"error": {"http_status": 400}}
        yield judge.verdict("tosca: translated", name, record, wanted, [Found(refusal is None, refusal)])
        if is_translated and refusal is None:
            for field, value in _wanted(record["hot"]).items():
                yield judge.verdict(f"tosca: {field}", name, record, value, [Found(fields[field])])


def _wanted(hot: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "resources": hot["resources"],
        "parameters": sorted(hot["parameters"]),
        "outputs": sorted(hot.get("outputs", ())),
        "nested": sorted(set(hot["files"]) - {MAIN}),
    }


def _translated(root: Path, name: str) -> tuple[str | None, dict[str, Any]]:
    """A refusal, or the fields of the translation. In a process of its own, and without closing it: these templates
    are known."""
    from calor.server.tosca.closed import translate

    logging.disable(logging.CRITICAL)  # the libraries log a line for most things that they guess
    path = root / name
    text = path.read_text(errors="replace")
    files = gather(text, lambda file: _beside(path, file)) | _by_url(root)
    try:
        made = translate(text, files, {}, name, LIMITS)
        template = parse_template(made.template, file=name, limits=LIMITS)
    except CalorError as error:
        return error.detail, {}
    return None, {
        "resources": {key: resource.type for key, resource in template.resources.items()},
        "parameters": sorted(template.parameters),
        "outputs": sorted(template.outputs),
        "nested": sorted(set(made.files) - set(files)),
    }


def _beside(template: Path, name: str) -> str | None:
    file = template.parent / name
    return file.read_text(errors="replace") if file.is_file() else None


def _by_url(root: Path) -> dict[str, str]:
    known = root / "url-map.json"
    urls = json.loads(known.read_text()) if known.is_file() else {}
    return {url: (root / file).read_text(errors="replace") for url, file in urls.items() if (root / file).is_file()}
