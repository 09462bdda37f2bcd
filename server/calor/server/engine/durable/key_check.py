"""Whether the keys at hand are those that sealed what is stored: asked once, before anything is served."""

from collections.abc import Sequence

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from calor.server.engine.durable.sealing import Sealing
from calor.server.identity import Keys, SealBroken, Vault
from calor.server.store.database import Database
from calor.server.store.models import Stack

SAMPLE = 5


async def fits(database: Database, keys: Keys) -> bool:
    """False where none of the newest secrets can be opened. One that cannot may be damaged, all of them are another
    key's (F173)."""

    async def newest(connection: AsyncConnection) -> Sequence[str | None]:
        query = sa.select(Stack.credentials).where(Stack.credentials.is_not(None), Stack.deleted_at.is_(None))
        return (await connection.execute(query.order_by(Stack.created_at.desc()).limit(SAMPLE))).scalars().all()

    sealing, texts = Sealing(Vault.of(keys)), await database.read(newest)
    return not texts or any(_opens(sealing, text) for text in texts)


def _opens(sealing: Sealing, text: str | None) -> bool:
    try:
        sealing.value(text)
    except SealBroken:
        return False
    return True
