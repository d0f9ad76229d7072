"""One small agent by real SDKs and whatever watches them: `python -m support.live_agent SDK PROVIDER OTLP FIRST_RUN`.

A process of its own, since an instrumentation changes the SDK of the process that it is in. It plays two runs
and tells the stand-in provider before each which one it is: in the first the SDK retries by itself after a
429, in the second the application does, and a stream of OpenAI's isn't asked for its usage.
"""

import json
import sys
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Barrier

from opentelemetry import context, trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

SYSTEM = "You reconcile invoices with the ledger. " * 40
ASK = "Which open invoices of acme don't match?"
TOOLS = {"fetch_invoices": "vendor", "match_ledger": "invoice_id", "check_fx": "currency"}
# Ordinal of the request that the provider refuses: within the loop of tools.
REFUSED = 3


def schema(name):
    """The arguments of a tool, as JSON Schema."""
    return {"type": "object", "properties": {TOOLS[name]: {"type": "string"}}}


class App:
    """The application around the SDK: its root span, its tools, its own retries."""

    def __init__(self, sdk, provider, otlp):
        self.sdk, self.provider = sdk, provider
        traces = TracerProvider(resource=Resource.create({"service.name": "live-suite"}))
        traces.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=f"{otlp}/v1/traces")))
        trace.set_tracer_provider(traces)
        self.traces = traces
        self.tracer = trace.get_tracer("live.app", "1.0.0")
        self.refusal = ()

    @contextmanager
    def run(self, number):
        """A run: the provider knows its number, its workflow bears it."""
        told = json.dumps({"run": number, "fail": {REFUSED: 429}}).encode()
        urllib.request.urlopen(f"{self.provider}/_ctl/begin", told, timeout=30).read()
        name = f"{self.sdk}/{number}"
        attributes = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": name}
        with self.tracer.start_as_current_span(f"invoke_agent {name}", attributes=attributes):
            yield

    def asked(self, call, **arguments):
        """Makes a call, once more if the provider refuses it."""
        try:
            return call(**arguments)
        except self.refusal:
            return call(**arguments)

    def tools(self, calls):
        """Runs `(id, name)` at once: none ends before all have begun."""
        here = context.get_current()
        begun = Barrier(len(calls))

        def execute(call):
            attributes = {
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": call[1],
                "gen_ai.tool.call.id": call[0],
            }
            with self.tracer.start_as_current_span(f"execute_tool {call[1]}", here, attributes=attributes):
                begun.wait(timeout=30)
                return call[0], f"{call[1]} found nothing odd"

        with ThreadPoolExecutor(len(calls)) as pool:
            return list(pool.map(execute, calls))


def play_openai(app, client, number, stream_options):
    """The agent on OpenAI's SDK."""
    ask = client.chat.completions.create
    app.asked(ask, model="gpt-4.1-mini", messages=[{"role": "user", "content": f"{ASK} Plan only."}])
    client.embeddings.create(model="text-embedding-3-small", input=[ASK])
    tools = [{"type": "function", "function": {"name": name, "parameters": schema(name)}} for name in TOOLS]
    messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": f"{ASK} Batch {number}."}]
    while True:
        answer = app.asked(ask, model="gpt-4.1", messages=messages, tools=tools).choices[0].message
        if not answer.tool_calls:
            break
        messages.append(answer.model_dump(exclude_none=True))
        results = app.tools([(call.id, call.function.name) for call in answer.tool_calls])
        messages += [{"role": "tool", "tool_call_id": call, "content": found} for call, found in results]
    ask(model="gpt-5-mini", messages=[{"role": "user", "content": f"{ASK} Check batch {number}."}])
    report = [{"role": "user", "content": f"Report on batch {number}."}]
    for _ in ask(model="gpt-4.1-mini", messages=report, stream=True, **stream_options):
        pass


def play_anthropic(app, client, number):
    """The agent on Anthropic's SDK."""
    ask = client.messages.create
    system = [{"type": "text", "text": SYSTEM, "cache_control": {"type": "ephemeral"}}]
    common = {"model": "claude-haiku-4-5", "max_tokens": 900, "system": system}
    app.asked(ask, messages=[{"role": "user", "content": f"{ASK} Plan only."}], **common)
    tools = [{"name": name, "input_schema": schema(name)} for name in TOOLS]
    messages = [{"role": "user", "content": f"{ASK} Batch {number}."}]
    while True:
        answer = app.asked(ask, messages=messages, tools=tools, **common)
        calls = [(block.id, block.name) for block in answer.content if block.type == "tool_use"]
        if not calls:
            break
        messages.append({"role": "assistant", "content": [block.model_dump() for block in answer.content]})
        results = [{"type": "tool_result", "tool_use_id": call, "content": found} for call, found in app.tools(calls)]
        messages.append({"role": "user", "content": results})
    for _ in ask(messages=[{"role": "user", "content": f"Report on batch {number}."}], stream=True, **common):
        pass


def main(sdk, provider, otlp, first):
    """Plays both runs and sends all of their spans."""
    app = App(sdk, provider, otlp)
    if sdk == "anthropic":
        import anthropic  # its own spans, which it sends by itself

        app.refusal = anthropic.RateLimitError
    else:
        import openai

        app.refusal = openai.RateLimitError
        if sdk == "openai":
            from opentelemetry.instrumentation.genai.openai import OpenAIInstrumentor
        else:
            from openinference.instrumentation.openai import OpenAIInstrumentor
        OpenAIInstrumentor().instrument(tracer_provider=app.traces)
    for number, retries in [(first, 2), (first + 1, 0)]:
        with app.run(number):
            if sdk == "anthropic":
                client = anthropic.Anthropic(base_url=provider, api_key="none", max_retries=retries)
                play_anthropic(app, client, number)
            else:
                client = openai.OpenAI(base_url=f"{provider}/v1", api_key="none", max_retries=retries)
                play_openai(app, client, number, {"stream_options": {"include_usage": True}} if retries else {})
    app.traces.shutdown()


if __name__ == "__main__":
    main(*sys.argv[1:4], int(sys.argv[4]))
