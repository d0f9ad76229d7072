"""Other people's readers on the same tables: DuckDB with its delta extension, and pandas by deltalake."""

from importlib.resources import files

import duckdb
from deltalake import DeltaTable


def connect():
    """DuckDB with the delta extension, which comes as a wheel, so nothing is fetched."""
    connection = duckdb.connect(config={"allow_unsigned_extensions": "true", "autoinstall_known_extensions": "false"})
    extension = files("duckdb_extension_delta") / "extensions" / f"v{duckdb.__version__}" / "delta.duckdb_extension"
    connection.execute(f"LOAD '{extension}'")
    connection.execute("SET TimeZone = 'UTC'")
    return connection


def attach(connection, lake, *tables):
    """Makes a view of each table of a lake."""
    for table in tables:
        connection.execute(f"CREATE OR REPLACE VIEW {table} AS SELECT * FROM delta_scan('file://{lake / table}')")
    return connection


def pandas(lake, table, columns=None):
    """A table as a pandas frame."""
    return DeltaTable(lake / table).to_pandas(columns=columns)
