"""What a server, a database and an address must be like, looked at before anything is written."""

from ricordo.common.errors import DatabaseError
from ricordo.stores.postgres.connection import Connection
from ricordo.stores.postgres.role import EXTENSIONS


def assert_writable_text(conn: Connection) -> None:
    """Look at what the server told when we came in, which costs nothing.

    Raises:
        DatabaseError: The database cannot hold any text, or takes no writes.
    """
    told, database = conn.info.parameter_status, conn.info.dbname
    if (encoding := told("server_encoding")) != "UTF8":
        raise DatabaseError(
            f"The database {database} is encoded in {encoding}, which cannot hold what people write. Make one that "
            "can, CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0, and set RICORDO_DATABASE_URL to it."
        )
    if told("in_hot_standby") == "on":
        raise DatabaseError(
            f"The server of the database {database} is a standby, which takes no writes. Set RICORDO_DATABASE_URL to "
            "the primary, or name all servers in it and add target_session_attrs=read-write."
        )
    if told("default_transaction_read_only") == "on":
        raise DatabaseError(
            f"The database {database} begins every transaction as a read-only transaction ("
            "default_transaction_read_only is on, for the server, the database or its user). Switch that off, or set "
            "RICORDO_DATABASE_URL to another one."
        )


def assert_policies_filter(conn: Connection, row_security: str) -> None:
    """Look at how policies are applied.

    Raises:
        DatabaseError: They make errors instead of leaving rows out.
    """
    if row_security != "on":
        raise DatabaseError(
            f"row_security is {row_security} for the user {conn.info.user} or the database {conn.info.dbname}: "
            "policies make errors instead of leaving out what is another user's. Take it back by ALTER ROLE or ALTER "
            "DATABASE … RESET row_security, or in the server's configuration."
        )


async def assert_own_schema(conn: Connection) -> None:
    """Look at the schema that tables would be made in; the extensions are there.

    Raises:
        DatabaseError: There is none, the application's role would look for it elsewhere, it lacks an extension, or
            policies make errors.
    """
    cursor = await conn.execute(
        "SELECT current_setting('row_security') AS row_security, current_setting('search_path') AS path, "
        "current_schema() AS schema, "
        "current_schema() = current_user AND current_setting('search_path') LIKE '%%$user%%' AS by_user, "
        "(SELECT min(e.extname || ' in ' || e.extnamespace::regnamespace) FROM pg_extension e "
        "WHERE e.extname = ANY(%s) "
        "AND NOT e.extnamespace = ANY(current_schemas(true)::regnamespace[]::oid[])) AS hidden",
        [list(EXTENSIONS)],
    )
    found = await cursor.fetchone() or {}
    assert_policies_filter(conn, found["row_security"])
    advice = (
        f"Let the user {conn.info.user} have a search_path of schemas that exist, named one by one, such as public."
    )
    if found["schema"] is None:
        raise DatabaseError(f"No schema of the search_path ({found['path']}) exists. {advice}")
    if found["by_user"]:
        raise DatabaseError(
            f"The search_path ({found['path']}) leads each role to a schema of its own, and the role that Ricordo "
            f"works as would not find the tables in {found['schema']}. {advice}"
        )
    if found["hidden"]:
        raise DatabaseError(
            f"An extension that Ricordo needs is outside the search_path ({found['path']}): {found['hidden']}. Add "
            "that schema to it."
        )
