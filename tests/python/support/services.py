"""The real services of `deploy/dev`: who started them, and how a test takes part of one down.

They are started outside, by `.ci/run` or by hand, and found by what their scripts print (`KAFKA_BOOTSTRAP` and
so on) in the environment; where that is missing a test skips and says what to run.
"""

import os
import subprocess
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).resolve().parents[3] / "deploy" / "dev"
# The first start of a collector may have to build it.
PATIENCE_S = 900


def script(name, *arguments, **env):
    """Runs a script of `deploy/dev`; what it prints."""
    done = subprocess.run(
        [SCRIPTS / name, *map(str, arguments)],
        env={**os.environ, **env},
        stdin=subprocess.DEVNULL,
        # Its services outlive it, and would hold a pipe open.
        stdout=subprocess.PIPE,
        timeout=PATIENCE_S,
        text=True,
        check=True,
    )
    return done.stdout


def settings(name, *arguments):
    """What a script's `env` says, as a dict."""
    return dict(line.split("=", 1) for line in script(name, "env", *arguments).splitlines())


def wanted(service, *names):
    """The values of these variables; skips the test where the service was not started."""
    missing = [name for name in names if not os.environ.get(name)]
    if missing:
        service = f"deploy/dev/{service}"
        pytest.skip(f"{missing[0]} is not set: run `{service} up` and `set -a; . <({service} env); set +a`")
    return [os.environ[name] for name in names]
