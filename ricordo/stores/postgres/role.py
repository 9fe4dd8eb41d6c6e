"""The role that the application works as: one for each database, so that none opens the way into another."""

import psycopg
from psycopg import sql

from ricordo.common.errors import DatabaseError
from ricordo.stores.postgres.connection import Connection

PLACEHOLDER = "ricordo_app"
"""What the migrations call the role. Earlier, it was the name of the one role of all databases."""
ROLE_OF = f"SELECT '{PLACEHOLDER}_' || oid AS role FROM pg_database WHERE datname = "  # noqa: S608 - ours
"""The role's name, by that of the database: a query that is to be completed."""
EXTENSIONS = ("vector", "pg_trgm")
_SET_IS_APART = 16_00_00
"""Since this version of PostgreSQL, a member of a role may administer it without being allowed to take it on."""


async def role_of(conn: Connection) -> str:
    """Return the name of the role of the database that we are in."""
    row = await (await conn.execute(f"{ROLE_OF}current_database()".encode())).fetchone()
    return str(row["role"]) if row else PLACEHOLDER


async def ensure_role(conn: Connection, name: str) -> None:
    """Create the role of the application, which no policy spares, and let us take it on.

    Raises:
        DatabaseError: The role is there and passes row-level security.
    """
    role = sql.Identifier(name)
    privilege = "SET" if conn.info.server_version >= _SET_IS_APART else "MEMBER"
    cursor = await conn.execute(
        "SELECT rolsuper OR rolbypassrls AS unsafe, pg_has_role(oid, %s) AS member FROM pg_roles WHERE rolname = %s",
        [privilege, name],
    )
    found = await cursor.fetchone()
    if found is None:
        await conn.execute(sql.SQL("CREATE ROLE {} NOLOGIN NOINHERIT NOBYPASSRLS").format(role))
    elif found["unsafe"]:
        raise DatabaseError(
            f"The role {name} passes row-level security, so users would see each other's memories. An administrator "
            f"must run: ALTER ROLE {name} NOSUPERUSER NOBYPASSRLS;"
        )
    if not (found and found["member"]):
        await conn.execute(sql.SQL("GRANT {} TO CURRENT_USER").format(role))


async def refused(conn: Connection, error: psycopg.Error) -> DatabaseError:
    """Say what an administrator of the server must run, where our user may not."""
    await conn.rollback()
    role, user = await role_of(conn), '"' + conn.info.user.replace('"', '""') + '"'
    extensions = " ".join(f"CREATE EXTENSION IF NOT EXISTS {name};" for name in EXTENSIONS)
    return DatabaseError(
        f"PostgreSQL does not let the user {user} set up or use the database {conn.info.dbname}: "
        f"{error.diag.message_primary}. An administrator must run, in that database, those of these that are missing: "
        f"{extensions} CREATE ROLE {role} NOLOGIN NOINHERIT NOBYPASSRLS; GRANT {role} TO {user}; "
        f"GRANT CREATE, USAGE ON SCHEMA public TO {user}; GRANT USAGE ON SCHEMA public TO {role};"
    )
