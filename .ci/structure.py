"""Refuses what makes the house harder to find one's way in: the rules of CONTRIBUTING.md that a reader
should not have to check."""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

LONGEST = 600
# An arrow points only down the list of layers; `plimsoll` may use all.
LAYERS = {
    "assembly": set(),
    "backtest": {"plan", "replay", "rows"},
    "calendar": {"toml"},
    "catalog": {"toml"},
    "ingest": {"lake", "otlp", "rows"},
    "lake": {"toml"},
    "otlp": {"toml"},
    "plan": {"replay", "catalog", "calendar", "toml"},
    "profile": {"lake", "assembly", "plan", "catalog", "calendar", "toml"},
    "replay": {"catalog", "calendar"},
    "report": {"plan", "replay", "catalog", "calendar"},
    "rows": set(),
    "scenario": {"calendar", "toml"},
    "toml": set(),
    "web": {"report", "profile", "lake", "plan"},
}
# These build in seconds and can be tested without a disk: no I/O, no engine.
PURE = {"assembly", "backtest", "calendar", "catalog", "otlp", "plan", "replay", "rows", "toml"}
HEAVY = {"tokio", "datafusion", "object_store", "deltalake-core", "axum", "tonic", "reqwest"}
ITEM = re.compile(
    r"^(pub(\([a-z]+\))? )?(async |const |unsafe )*(fn|struct|enum|union|trait|impl|static|type|macro_rules!)\b"
)
# Characters that make code look like what it is not.
HIDDEN = re.compile("[\u202a-\u202e\u2066-\u2069\u200b-\u200f\ufeff]")


def tracked():
    """Files of the repository, new ones too."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"], capture_output=True, check=True
    )
    files = (Path(name) for name in listed.stdout.decode().split("\0") if name)
    return sorted(path for path in files if path.is_file())


def faults_of(path, text):
    """What is wrong with one text file."""
    lines = text.splitlines()
    if path.suffix in (".rs", ".py", ".sql", ".sh") and len(lines) > LONGEST:
        yield f"{len(lines)} lines: a file holds one idea; past some 500 lines it usually holds two"
    if HIDDEN.search(text):
        yield "has characters that cannot be seen"
    if path.suffix == ".rs":
        if not text.startswith("//!"):
            yield "must open with `//!`: what it is for, what it leaves to others, the invariant it keeps"
        if path.name in ("lib.rs", "mod.rs"):
            for number, line in enumerate(lines, 1):
                if ITEM.match(line):
                    yield f"line {number}: lib.rs and mod.rs are a doc comment and re-exports: `{line.strip()}`"
    if path.suffix == ".sql" and not text.startswith("--"):
        yield "must open with a comment: what it makes from what"
    if path.suffix == ".ipynb":
        cells = [cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "code"]
        if any(cell["outputs"] or cell["execution_count"] for cell in cells):
            yield "is kept without output: CI executes it"


def faults_of_layers():
    """Dependencies between crates that point upwards, and engines in pure crates."""
    for manifest in sorted(Path("crates").glob("*/Cargo.toml")):
        crate = manifest.parent.name
        needs = set(tomllib.loads(manifest.read_text()).get("dependencies", {}))
        ours = {name.removeprefix("plimsoll-") for name in needs if name.startswith("plimsoll-")}
        if crate != "plimsoll":
            for other in sorted(ours - LAYERS.get(crate, set())):
                yield manifest, f"{crate} may not use {other}: arrows point only down the layers"
        if crate in PURE:
            for other in sorted(needs & HEAVY):
                yield manifest, f"{crate} is pure and may not use {other}"


def main():
    """Prints every fault; none is a pass."""
    files = tracked()
    faults = []
    for path in files:
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        faults += [(path, fault) for fault in faults_of(path, text)]
    faults += faults_of_layers()
    for path, fault in faults:
        print(f"{path}: {fault}")
    print(f"{len(files)} files, {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
