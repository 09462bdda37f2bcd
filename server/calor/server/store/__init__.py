"""The store: typed models, migrations and queries. Queries return frozen values and never leak a session."""

from calor.server.store.database import Database, SchemaUnknown, open_database, upgrade
from calor.server.store.writes import Change, Fence, Insert, LeaseLost, Remove, Write

__all__ = [
    "Change",
    "Database",
    "Fence",
    "Insert",
    "LeaseLost",
    "Remove",
    "SchemaUnknown",
    "Write",
    "open_database",
    "upgrade",
]
