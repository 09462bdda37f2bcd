"""Alembic's entry: runs the migrations on the connection that `upgrade` hands in."""

from alembic import context

from calor.server.store import guest_models
from calor.server.store.base import Base

connection = context.config.attributes["connection"]
context.configure(connection=connection, target_metadata=Base.metadata, render_as_batch=True)
guest_models.Guest.__table__  # noqa: B018 - registers the guests' tables
with context.begin_transaction():
    context.run_migrations()
