"""Fixtures: the binary, a fresh lake a test, and one example company for all who only read."""

import os
import shutil
import socket
from pathlib import Path

import pytest

from support.command import Plimsoll

ROOT = Path(__file__).resolve().parents[2]
# Runs and tokens enough for percentiles to differ, few enough for an unoptimised build.
DEMO_SCALE = "0.1"


def pytest_addoption(parser):
    """Pages that tests make are only compared, unless one asks for them."""
    parser.addoption("--write-docs", action="store_true", help="write the pages of docs/ that tests make")


@pytest.fixture(scope="session")
def binary():
    """The command: PLIMSOLL_BIN, else the debug build of this checkout."""
    named = os.environ.get("PLIMSOLL_BIN")
    path = Path(named) if named else Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "debug" / "plimsoll"
    assert path.is_file(), f"{path} is not there: run `cargo build`, or set PLIMSOLL_BIN"
    return path.resolve()


@pytest.fixture
def plimsoll(binary, tmp_path):
    """The command with a lake of its own."""
    return Plimsoll(binary, tmp_path)


@pytest.fixture
def unused_port():
    """A port that was free a moment ago, for the few tests that must know it beforehand."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture(scope="session")
def company(binary, tmp_path_factory):
    """The folder of a finished `demo`: PLIMSOLL_DEMO where one was made already, else a small one."""
    folder = tmp_path_factory.mktemp("company")
    made = os.environ.get("PLIMSOLL_DEMO")
    if made:
        shutil.copytree(made, folder, dirs_exist_ok=True)
    else:
        maker = Plimsoll(binary, folder)
        maker.run("demo", "--dir", folder, "--scale", DEMO_SCALE, lake=False, timeout=900)
    return Plimsoll(binary, folder)


@pytest.fixture(scope="session")
def shared():
    """The folder of public traces, which are too large for this repository."""
    folder = Path(os.environ.get("PLIMSOLL_SHARED", ROOT.parent / "shared"))
    if not folder.is_dir():
        pytest.skip(f"{folder} is not there: set PLIMSOLL_SHARED to the folder of public traces")
    return folder
