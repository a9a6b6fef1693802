"""Run by Alembic: applies the migrations on the connection that it is given, all in one transaction."""

from alembic import context

from halfmask.service.storage.tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    render_as_batch=True,
    compare_type=True,
)
with context.begin_transaction():
    context.run_migrations()
