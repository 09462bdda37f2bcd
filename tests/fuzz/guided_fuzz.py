"""The fuzzer of `fuzz_language.py` guided by coverage: inputs that reach new code are kept, and changed further.

    python tests/fuzz/guided_fuzz.py --inputs 200000 --seconds 1800 --keep found

Inputs are texts, and what their JSON says where they are JSON (a template as clients send it). It ends with 1, and the
input in the folder, at the first one that raises anything but an error of ours, takes more than `SECONDS` of CPU
(instrumented code is slow) or brings the process beyond the memory. Needs `atheris`, which is for Linux only.
"""

import argparse
import json
import random
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import atheris  # type: ignore[import-not-found,unused-ignore]  # it is optional

sys.path.insert(0, str(Path(__file__).parent))  # tests are no packages: this is how they share code

with atheris.instrument_imports(include=["calor.server.template", "calor.server.plan", "calor.server.engine.revision"]):
    from fuzz_language import SEEDS, WORDS, trees, tried

SECONDS = 4.0
MEGABYTES = 600
LONGEST = 4096


class TooSlow(Exception):
    pass


def one(data: bytes) -> None:
    text = data.decode("utf-8", "replace")  # halves of pairs come by JSON's escapes
    began = time.process_time()
    tried(_given(text))
    if (took := time.process_time() - began) > SECONDS:
        raise TooSlow(f"{took:.1f} s of CPU")


def _given(text: str) -> Any:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return found if isinstance(found, dict) else text


def seeds(folder: Path) -> None:
    """The texts and some trees that the other fuzzer begins with."""
    made = [json.dumps(trees(random.Random(number))) for number in range(200)]
    for number, text in enumerate([*SEEDS, *made]):
        (folder / str(number)).write_text(text, encoding="utf-8", errors="surrogatepass")


def dictionary(file: Path) -> None:
    words = (word.encode("utf-8", "surrogatepass") for word in WORDS if len(word) < 64)
    lines = ('"' + "".join(f"\\x{byte:02x}" for byte in word) + '"' for word in words)
    file.write_text("\n".join(lines))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--inputs", type=int, default=100_000)
    parser.add_argument("--seconds", type=int, default=600)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, required=True, help="Folder for an input that failed, and for the corpus.")
    wanted = parser.parse_args()
    corpus = wanted.keep / "corpus"
    corpus.mkdir(parents=True, exist_ok=True)
    seeds(corpus)
    with tempfile.NamedTemporaryFile("w", suffix=".dict") as words:
        dictionary(Path(words.name))
        limits = [f"-runs={wanted.inputs}", f"-max_total_time={wanted.seconds}", f"-seed={wanted.seed}"]
        bounds = [f"-rss_limit_mb={MEGABYTES}", f"-max_len={LONGEST}", f"-dict={words.name}"]
        kept = f"-artifact_prefix={wanted.keep}/failed-"
        atheris.Setup([sys.argv[0], str(corpus), *limits, *bounds, kept, "-print_final_stats=1"], one)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
