"""The files of deploy/: settings that the command takes, and addresses that fit each other."""

import configparser
import re

import pytest
import yaml

from conftest import ROOT

DEPLOY = ROOT / "deploy"


def documents(name):
    """The documents of a YAML file, those of a list one by one."""
    whole = [each for each in yaml.safe_load_all((DEPLOY / name).read_text()) if each]
    return [item for each in whole for item in (each["items"] if each.get("kind") == "List" else [each])]


def test_settings_are_taken(plimsoll):
    """Protects the first start: the sample settings, and those of the ConfigMap, have no unknown key."""
    sample = (DEPLOY / "plimsoll.toml").read_text()
    # What the sample shows commented out must work as well.
    whole = re.sub(r"^# (?=\[|\w+ *= )", "", sample, flags=re.MULTILINE)
    assert "\n[[deployment]]" in whole
    samples = documents("kubernetes.yaml") + documents("kubernetes-kafka.yaml")
    mapped = [each["data"]["plimsoll.toml"] for each in samples if each["kind"] == "ConfigMap"]
    assert len(mapped) == 2
    for text in (sample, whole, *mapped):
        plimsoll.config(text)
        assert plimsoll.sql("SELECT 1 AS one") == [{"one": 1}]


@pytest.mark.parametrize("name", ["compose.yaml", "kubernetes.yaml", "kubernetes-kafka.yaml"])
def test_serve_takes_the_flags(plimsoll, name):
    """Protects the samples' command lines: every flag they give is one that `serve` knows."""
    if name == "compose.yaml":
        commands = [documents(name)[0]["services"]["plimsoll"]["command"]]
    else:
        pods = [each["spec"]["template"]["spec"] for each in documents(name) if each["kind"].endswith(("Set", "ment"))]
        commands = [pod["containers"][0]["args"] for pod in pods]
    known = plimsoll.run("serve", "--help").stdout.decode()
    assert commands
    for command in commands:
        assert command[0] == "serve" and "--allow-remote" in command
        for flag in command[1:]:
            if flag.startswith("--"):
                assert flag.split("=")[0] in known, flag


def test_remote_addresses_must_be_asked_for(plimsoll):
    """Protects from an open port by accident: without --allow-remote only loopback is listened on."""
    done = plimsoll.run(
        "serve", "--otlp-grpc", "0.0.0.0:0", "--otlp-http", "127.0.0.1:0", "--web", "127.0.0.1:0", code=2
    )
    assert "allow_remote" in done.stderr.decode() or "allow-remote" in done.stderr.decode()


def test_alerts_name_metrics_that_are_there(plimsoll):
    """Protects alerts: every metric that deploy/README.md names is served."""
    named = re.findall(r"\bplimsoll_ingest_\w+", (DEPLOY / "README.md").read_text())
    with plimsoll.serve() as server:
        served = server.get("/metrics")[1]
    assert len(named) >= 3
    assert [name for name in named if f"\n{name}{{" not in served] == []


def test_collector():
    """Protects the collector sample: it exports to OTLP/gRPC, tries again, and waits on disk."""
    (config,) = documents("collector.yaml")
    exporter = config["exporters"]["otlp/plimsoll"]
    assert exporter["sending_queue"]["storage"] in config["service"]["extensions"]
    assert exporter["retry_on_failure"]["max_elapsed_time"] == 0
    (pipeline,) = config["service"]["pipelines"].values()
    assert pipeline["exporters"] == ["otlp/plimsoll"]
    assert set(pipeline["processors"]) == set(config["processors"])


def test_unit():
    """Protects the unit: no root, a folder of its own, and time to flush before it is killed."""
    unit = configparser.ConfigParser(strict=False, interpolation=None, allow_no_value=True)
    unit.optionxform = str
    unit.read_string((DEPLOY / "plimsoll.service").read_text())
    service = unit["Service"]
    assert service["DynamicUser"] == "yes" and service["StateDirectory"] == "plimsoll"
    assert int(service["TimeoutStopSec"]) > 20
