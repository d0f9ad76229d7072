"""Other people's readers on the same tables: DuckDB with its delta extension, and pandas by deltalake.

A lake is a folder, or an `s3://` whose server and keys stand in the environment.
"""

import os
from importlib import import_module
from importlib.resources import files

import duckdb
from deltalake import DeltaTable


def _load(connection, extension):
    """Loads an extension that came as a wheel, so that nothing is fetched."""
    package = import_module(f"duckdb_extension_{extension}")
    path = files(package) / "extensions" / f"v{duckdb.__version__}" / f"{extension}.duckdb_extension"
    connection.execute(f"LOAD '{path}'")


def connect():
    """DuckDB with the delta extension."""
    connection = duckdb.connect(config={"allow_unsigned_extensions": "true", "autoinstall_known_extensions": "false"})
    _load(connection, "delta")
    connection.execute("SET TimeZone = 'UTC'")
    return connection


def _reach_s3(connection):
    _load(connection, "httpfs")
    server = os.environ["AWS_ENDPOINT_URL"].removeprefix("http://")
    connection.execute(
        f"""CREATE OR REPLACE SECRET (TYPE s3, KEY_ID '{os.environ["AWS_ACCESS_KEY_ID"]}',
        SECRET '{os.environ["AWS_SECRET_ACCESS_KEY"]}', REGION '{os.environ["AWS_REGION"]}',
        ENDPOINT '{server}', USE_SSL false, URL_STYLE 'path')"""
    )


def _address(lake, table):
    return f"{lake}/{table}" if "://" in str(lake) else f"file://{lake / table}"


def attach(connection, lake, *tables):
    """Makes a view of each table of a lake."""
    if str(lake).startswith("s3://"):
        _reach_s3(connection)
    for table in tables:
        connection.execute(f"CREATE OR REPLACE VIEW {table} AS SELECT * FROM delta_scan('{_address(lake, table)}')")
    return connection


def pandas(lake, table, columns=None, version=None):
    """A table as a pandas frame, the newest version of it unless one is named."""
    return DeltaTable(_address(lake, table), version=version).to_pandas(columns=columns)


def span_ids(lake):
    """The ids of all rows of `spans`, by each of the two, in the order in which they were asked."""
    duck = attach(connect(), lake, "spans").execute("SELECT span_id FROM spans").fetchall()
    return [name for (name,) in duck], list(pandas(lake, "spans", ["span_id"]).span_id)
