"""Which model's vectors the memories hold, and the indexes made for them."""

from psycopg import sql

from ricordo.common.errors import EmbeddingMismatchError
from ricordo.models.embeddings import Embedder, text_hash
from ricordo.stores.postgres.connection import Connection, connect

TABLES = ("knowledge_base", "workflow", "entity", "summary", "user_memory")
"""The searchable tables."""
_WIDEST_INDEX = 4000
"""Dimensions that pgvector's index takes in half precision."""


async def ensure_space(dsn: str, embedder: Embedder) -> None:
    """Note which model fills the memories, at its first use, and make the indexes for its vectors.

    Args:
        dsn: The database, by the role that owns the tables.
        embedder: The model that is to be used.

    Raises:
        EmbeddingMismatchError: The memories hold vectors of another model, and are not on the way to this one.
        EmbeddingError: The width of a remote model had to be asked, and it cannot be reached.
        DatabaseError: The server cannot be reached.
    """
    async with await connect(dsn) as conn, conn.transaction():
        await conn.execute("SELECT set_config('app.user_id', '*', true), pg_advisory_xact_lock(hashtext('embeddings'))")
        row = await (await conn.execute("SELECT * FROM embedding_space")).fetchone()
        if row is None:
            dims = await embedder.measure()
            await conn.execute("INSERT INTO embedding_space (model, dims) VALUES (%s, %s)", (embedder.model_id, dims))
            for table in TABLES:
                await make_index(conn, table, embedder.model_id, dims)
        elif row["model"] == embedder.model_id:
            embedder.expect(row["dims"])
        elif row["target"] == embedder.model_id:  # what is not embedded anew yet is found by its words
            embedder.expect(row["target_dims"])
        else:
            raise EmbeddingMismatchError(
                f"Memory holds vectors of {row['model']} ({row['dims']} dimensions), and RICORDO_EMBEDDINGS asks for "
                f"{embedder.model_id}: the two cannot be compared. Run `ricordo reembed` to embed everything anew, or "
                f"set RICORDO_EMBEDDINGS back."
            )


def index_name(table: str, model: str, dims: int) -> str:
    """Return the name of a table's vector index for a model."""
    return f"{table}_{text_hash(model).hex()[:12]}_{dims}"


async def make_index(conn: Connection, table: str, model: str, dims: int, *, concurrently: bool = False) -> None:
    """Make the vector index of one table for one model, if it is not there; wider vectors are searched exactly.

    Args:
        conn: A connection of the tables' owner.
        table: One of `TABLES`.
        model: Whose vectors are indexed.
        dims: Their width.
        concurrently: Let others write meanwhile; it takes longer, and no transaction may be open.
    """
    if dims > _WIDEST_INDEX:
        return
    await conn.execute(
        sql.SQL(
            "CREATE INDEX {concurrently} IF NOT EXISTS {name} ON {t} "
            "USING hnsw ((embedding::halfvec({dims})) halfvec_cosine_ops) "
            # Half the time of the default (16, 64) for each unit written, and 98 % of the true top ten.
            "WITH (m = 12, ef_construction = 40) WHERE embedding_model = {model}"
        ).format(
            concurrently=sql.SQL("CONCURRENTLY" if concurrently else ""),
            name=sql.Identifier(index_name(table, model, dims)),
            t=sql.Identifier(table),
            dims=sql.Literal(dims),
            model=sql.Literal(model),
        )
    )
