"""Reads every table of a lake with DuckDB and with pandas and holds them against each other.

Usage: foreign.py LAKE TABLE:ROWS:COLUMNS...
"""

import os
import sys

import duckdb
import deltalake


def extension():
    """The delta extension as a package brings it, or None where DuckDB must find its own."""
    try:
        import duckdb_extension_delta
    except ImportError:
        return None
    folder = os.path.dirname(duckdb_extension_delta.__file__)
    for root, _, files in os.walk(folder):
        for name in files:
            if name.endswith(".duckdb_extension"):
                return os.path.join(root, name)
    return None


def main():
    lake, tables = sys.argv[1], sys.argv[2:]
    duck = duckdb.connect(config={"allow_unsigned_extensions": "true"})
    path = extension()
    duck.execute(f"LOAD '{path}'" if path else "INSTALL delta; LOAD delta")
    duck.execute("SET TimeZone = 'UTC'")
    for table in tables:
        name, rows, columns = table.split(":")
        location = os.path.join(lake, name)
        delta = deltalake.DeltaTable(location)
        assert delta.protocol().min_reader_version == 1, delta.protocol()
        assert delta.protocol().min_writer_version == 2, delta.protocol()
        scan = duck.sql(f"SELECT * FROM delta_scan('{location}')")
        count = scan.aggregate("count(*)").fetchone()[0]
        assert count == int(rows), f"{name}: DuckDB sees {count} rows, not {rows}"
        assert len(scan.columns) == int(columns), f"{name}: DuckDB sees {scan.columns}"
        frame = delta.to_pandas()
        assert len(frame) == int(rows), f"{name}: pandas sees {len(frame)} rows, not {rows}"
        assert len(frame.columns) == int(columns), f"{name}: pandas sees {list(frame.columns)}"
        for column, kind in zip(scan.columns, scan.types):
            nulls = duck.sql(
                f"SELECT count(*) FROM delta_scan('{location}') WHERE \"{column}\" IS NULL"
            ).fetchone()[0]
            here = int(frame[column].isna().sum())
            if str(kind) == "DOUBLE":
                nulls += duck.sql(
                    f"SELECT count(*) FROM delta_scan('{location}') WHERE isnan(\"{column}\")"
                ).fetchone()[0]
            assert nulls == here, f"{name}.{column}: {nulls} nulls in DuckDB, {here} in pandas"
            # A filter that statistics can answer must agree with the rows themselves.
            if str(kind) in ("VARCHAR", "BIGINT", "TIMESTAMP WITH TIME ZONE", "DATE") and count:
                low, high = duck.sql(
                    f"SELECT min(x)::VARCHAR, max(x)::VARCHAR FROM (SELECT \"{column}\" x FROM scan)"
                ).fetchone()
                for bound in (low, high):
                    if bound is None:
                        continue
                    found = duck.execute(
                        f"SELECT count(*) FROM delta_scan('{location}') WHERE \"{column}\" = ?::{kind}",
                        [bound],
                    ).fetchone()[0]
                    assert found > 0, f"{name}.{column} = {bound!r} is pruned away"
        print(f"{name}: {count} rows, {len(scan.columns)} columns")


main()
