"""What the store says of schemas without Alembic is what Alembic says."""

from alembic.script import ScriptDirectory

from calor.server.store import schema


def test_the_needed_schema_is_alembics_head() -> None:
    assert schema.needed() == ScriptDirectory(str(schema.MIGRATIONS)).get_current_head()
