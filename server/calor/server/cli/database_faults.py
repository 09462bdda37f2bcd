"""A database that cannot be opened ends a verb with one clear line."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import sqlalchemy as sa
from sqlalchemy.exc import SQLAlchemyError


class DatabaseFault(Exception):
    """The database cannot be opened; the message has its URL without the password."""


@contextmanager
def database_faults(url: str) -> Iterator[None]:
    """Raises `DatabaseFault` for what goes wrong inside the block at the driver or the server."""
    _check_folder(url)
    try:
        yield
    except ModuleNotFoundError as exc:
        raise DatabaseFault(
            f"The driver {exc.name} for {_shown(url)} is not installed beside calor: pipx inject calor {exc.name}, or "
            f"pip install {exc.name} in calor's environment."
        ) from exc
    except (SQLAlchemyError, OSError) as exc:
        reason = str(getattr(exc, "orig", None) or exc).splitlines()[0]
        raise DatabaseFault(f"The database {_shown(url)} cannot be opened: {reason}") from exc


def _check_folder(url: str) -> None:
    """SQLite makes a missing file, not a missing folder; looked at first, since its driver fails noisily."""
    with suppress(SQLAlchemyError):
        target = sa.make_url(url)
        if target.get_backend_name() == "sqlite" and target.database not in {None, "", ":memory:"}:
            folder = Path(str(target.database)).absolute().parent
            if not folder.is_dir():
                raise DatabaseFault(f"The database {_shown(url)} cannot be opened: there is no folder {folder}.")


def _shown(url: str) -> str:
    try:
        return sa.make_url(url).render_as_string()
    except SQLAlchemyError:
        return "in [database] connection"
