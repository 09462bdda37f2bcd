"""The store of documents: atomic, durable when killed, in order."""

import os
import signal
import subprocess
import sys
import textwrap

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calor.server.devcloud.documents import Documents


def test_a_transaction_that_raises_changes_nothing(tmp_path):
    docs = Documents(tmp_path / "d.sqlite")
    with docs.transaction():
        docs.put("k", {"id": "a", "n": 1})
    with pytest.raises(ValueError), docs.transaction():
        docs.change("k", "a", n=2)
        docs.put("k", {"id": "b"})
        docs.drop("k", "a")
        raise ValueError
    assert docs.all("k") == [{"id": "a", "n": 1}]
    docs.close()
    assert Documents(tmp_path / "d.sqlite").all("k") == [{"id": "a", "n": 1}]


def test_a_change_outside_a_transaction_is_a_bug(tmp_path):
    with pytest.raises(RuntimeError):
        Documents(tmp_path / "d.sqlite").put("k", {"id": "a"})


steps = st.lists(
    st.tuples(st.sampled_from(["put", "drop"]), st.sampled_from("abc"), st.integers(), st.booleans()), max_size=20
)


@settings(max_examples=30, deadline=None)
@given(steps)
def test_what_is_reopened_is_what_was_committed(tmp_path_factory, steps):
    path = tmp_path_factory.mktemp("docs") / "d.sqlite"
    docs, model = Documents(path), {}
    for what, ident, number, fails in steps:
        try:
            with docs.transaction():
                if what == "put":
                    docs.put("k", {"id": ident, "n": number})
                else:
                    docs.drop("k", ident)
                if fails:
                    raise KeyError
            model = {**model, ident: number} if what == "put" else {k: v for k, v in model.items() if k != ident}
        except KeyError:
            pass
    docs.close()
    again = Documents(path)
    assert {doc["id"]: doc["n"] for doc in again.all("k")} == model
    again.close()


def test_every_commit_that_was_told_survives_kill_9(tmp_path):
    program = textwrap.dedent(
        """
        import sys
        from pathlib import Path
        from calor.server.devcloud.documents import Documents
        docs = Documents(Path(sys.argv[1]))
        n = len(docs.all("k"))
        while True:
            with docs.transaction():
                docs.put("k", {"id": str(n), "n": n})
            print(n, flush=True)
            n += 1
        """
    )
    path = tmp_path / "d.sqlite"
    told = -1
    for _ in range(5):
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        with subprocess.Popen(
            [sys.executable, "-c", program, str(path)], stdout=subprocess.PIPE, text=True, env=environment
        ) as process:
            for _ in range(50):
                told = int(process.stdout.readline())
            process.send_signal(signal.SIGKILL)
        rest = path.exists()
        assert rest
        docs = Documents(path)
        assert [doc["n"] for doc in sorted(docs.all("k"), key=lambda doc: doc["n"])][: told + 1] == list(
            range(told + 1)
        )
        docs.close()
