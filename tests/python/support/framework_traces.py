"""Turns recorded traces of agent frameworks into OTLP JSON bodies, with the attributes, scopes and times
that the frameworks gave them.

    python -m support.framework_traces TRACE.json > body.json

Two forms are read: Langfuse's export (`observations`, the original attributes under `metadata`) and
any-agent's (`spans`). Observations of Langfuse's own SDKs have no attributes in the export; theirs are made
again from type, model and usage. What Langfuse's server estimated for other scopes is left out: no
client sent it.
"""

import hashlib
import json
import sys
from datetime import datetime

KINDS = {"internal": 1, "server": 2, "client": 3, "producer": 4, "consumer": 5}
STATUS = {"unset": 0, "ok": 1, "error": 2}


def body(document):
    """The OTLP body of a trace in either form."""
    spans = any_agent(document) if "spans" in document else langfuse(document)
    return {"resourceSpans": [resource_spans(*span) for span in spans]}


def resource_spans(resource, scope, span):
    """One span under its own resource and scope: receivers must take that too."""
    return {
        "resource": {"attributes": attributes(resource)},
        "scopeSpans": [{"scope": scope, "spans": [span]}],
    }


def langfuse(document):
    """Spans of Langfuse's export, each as `(resource, scope, span)`."""
    for seen in document["observations"]:
        metadata = seen["metadata"] if isinstance(seen["metadata"], dict) else {}
        scope = metadata.get("scope") or {"name": "langfuse-sdk", "version": ""}
        own = metadata.get("attributes") or {}
        if scope["name"].startswith("langfuse"):
            own = own | langfuse_attributes(seen, metadata, document["trace"])
        span = {
            "traceId": hexadecimal(seen["traceId"], 32),
            "spanId": hexadecimal(seen["id"], 16),
            "parentSpanId": hexadecimal(seen["parentObservationId"], 16),
            "name": seen["name"],
            "kind": 1,
            "startTimeUnixNano": nanoseconds(seen["startTime"]),
            "endTimeUnixNano": nanoseconds(seen["endTime"] or seen["startTime"]),
            "status": {"code": 2 if seen["level"] == "ERROR" else 0},
            "attributes": attributes(own),
        }
        yield metadata.get("resourceAttributes") or {}, {key: scope[key] for key in ("name", "version")}, span


def langfuse_attributes(seen, metadata, trace):
    """What Langfuse's SDK says of an observation."""
    said = {"langfuse.observation.type": seen["type"].lower()}
    for key in metadata.keys() - {"attributes", "resourceAttributes", "scope"}:
        said["langfuse.observation.metadata." + key] = metadata[key]
    if seen["parentObservationId"] is None:
        said["langfuse.trace.name"] = trace["name"]
    if seen["type"] != "SPAN":
        said["langfuse.observation.model.name"] = seen.get("model")
        said["langfuse.observation.usage_details"] = usage(seen)
        said["langfuse.observation.completion_start_time"] = seen["completionStartTime"]
    return said


def usage(seen):
    """The counts; an older export has three of them beside each other."""
    told = seen.get("usageDetails")
    if told is None and seen["inputUsage"]:
        told = {"input": seen["inputUsage"], "output": seen["outputUsage"], "total": seen["totalUsage"]}
    return told or None


def any_agent(document):
    """Spans of any-agent's form, whose ids are whole numbers."""
    for seen in document["spans"]:
        context, parent = seen["context"], seen["parent"]
        span = {
            "traceId": f"{context['trace_id']:032x}",
            "spanId": f"{context['span_id']:016x}",
            "parentSpanId": f"{parent['span_id']:016x}" if parent and parent["span_id"] else "",
            "name": seen["name"],
            "kind": KINDS[seen["kind"]],
            "startTimeUnixNano": str(seen["start_time"]),
            "endTimeUnixNano": str(seen["end_time"]),
            "status": {"code": STATUS[seen["status"]["status_code"]]},
            "attributes": attributes(seen["attributes"]),
        }
        yield seen["resource"]["attributes"], {"name": "any_agent"}, span


def attributes(values):
    """Key-value pairs; what isn't a scalar or a list of text becomes JSON text, as it was sent."""
    return [{"key": key, "value": value(given)} for key, given in values.items() if given is not None]


def value(given):
    """A value by its Python type."""
    if isinstance(given, bool):
        return {"boolValue": given}
    if isinstance(given, int):
        return {"intValue": str(given)}
    if isinstance(given, float):
        return {"doubleValue": given}
    if isinstance(given, str):
        return {"stringValue": given}
    if isinstance(given, list) and all(isinstance(item, str) for item in given):
        return {"arrayValue": {"values": [value(item) for item in given]}}
    return {"stringValue": json.dumps(given)}


def nanoseconds(time):
    """A time of the export in nanoseconds since 1970, as text."""
    moment = datetime.fromisoformat(time.replace("Z", "+00:00"))
    return str(int(moment.timestamp()) * 1_000_000_000 + moment.microsecond * 1_000)


def hexadecimal(identity, digits):
    """The id itself where it is one of OpenTelemetry's, else one made of it."""
    if not identity:
        return ""
    if len(identity) == digits and all(digit in "0123456789abcdef" for digit in identity):
        return identity
    return hashlib.sha256(identity.encode()).hexdigest()[:digits]


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as file:
        json.dump(body(json.load(file)), sys.stdout, indent=1)
