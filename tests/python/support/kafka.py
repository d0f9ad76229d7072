"""A Kafka cluster as tests use it: topics, messages, and what a group has committed, by librdkafka's own client."""

import itertools
import os
import time
from collections import Counter

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

PATIENCE_S = 60

# How long brokers may be away: with one of three killed and a machine at its limits, minutes.
AWAY_S = 180

_numbers = itertools.count(1)


def fresh(name):
    """A name that no other test, and no earlier run of this one, has used."""
    return f"{name}-{os.getpid()}-{next(_numbers)}"


def until(true, what, patience=PATIENCE_S, pause=0.1):
    """Waits until something holds; what it then is."""
    deadline = time.monotonic() + patience
    while not (is_so := true()):
        assert time.monotonic() < deadline, f"{what}: not within {patience} s"
        time.sleep(pause)
    return is_so


def patiently(ask):
    """An answer of the brokers, asked for again while one of them is away."""
    deadline = time.monotonic() + AWAY_S
    while True:
        try:
            return ask()
        except (KafkaException, TimeoutError):
            if time.monotonic() > deadline:
                raise
            time.sleep(0.2)


class Kafka:
    """The brokers at `bootstrap`."""

    def __init__(self, bootstrap):
        self.bootstrap = bootstrap
        self.readers = {}
        self.admin = AdminClient({"bootstrap.servers": bootstrap})
        self.producer = Producer(
            {"bootstrap.servers": bootstrap, "acks": "all", "enable.idempotence": True, "linger.ms": 5}
        )

    def create(self, topic, partitions=1, **config):
        """Makes a topic, replicated as the brokers are set up, and waits until it can be written to."""
        config = {key.replace("_", "."): str(value) for key, value in config.items()}
        self.admin.create_topics([NewTopic(topic, partitions, config=config)])[topic].result(PATIENCE_S)
        until(lambda: len(self.partitions(topic)) == partitions, f"{topic} has its partitions")
        return topic

    def partitions(self, topic):
        """The numbers of a topic's partitions that have a leader."""
        known = self.admin.list_topics(topic, timeout=10).topics[topic].partitions
        return [number for number, state in known.items() if state.leader >= 0]

    def delete(self, topic):
        """Takes a topic away, and waits until it is."""
        self.admin.delete_topics([topic])[topic].result(PATIENCE_S)
        until(lambda: topic not in self.admin.list_topics(timeout=10).topics, f"{topic} is gone")

    def send(self, topic, *values, partition=None, headers=None, key=None):
        """Puts messages on a topic; returns when every replica in sync has them."""
        failed = []
        for value in values:
            options = {"headers": headers, "key": key, "on_delivery": lambda error, _: error and failed.append(error)}
            if partition is not None:
                options["partition"] = partition
            while True:
                try:
                    self.producer.produce(topic, value, **options)
                    break
                except BufferError:
                    self.producer.poll(0.1)
        assert self.producer.flush(PATIENCE_S) == 0 and not failed, failed

    def _reader(self, group):
        """A client that asks in the name of a group and never joins it. (The admin client has such questions too,
        and was seen to crash on them while a group was being made.)"""
        if group not in self.readers:
            options = {"bootstrap.servers": self.bootstrap, "group.id": group, "enable.auto.commit": False}
            self.readers[group] = Consumer(options)
        return self.readers[group]

    def ends(self, topic):
        """The next offset of each partition."""
        reader = self._reader("nobody")

        def ask():
            at = [TopicPartition(topic, number) for number in self.partitions(topic)]
            return {each.partition: reader.get_watermark_offsets(each, 10, False)[1] for each in at}

        return patiently(ask)

    def committed(self, group, topic):
        """The offsets that a group has committed, by partition."""

        def ask():
            at = [TopicPartition(topic, number) for number in self.partitions(topic)]
            return {each.partition: each.offset for each in self._reader(group).committed(at, 10) if each.offset >= 0}

        return patiently(ask)

    def messages(self, *topics):
        """Every message that now stands in these topics."""
        reader = Consumer(
            {"bootstrap.servers": self.bootstrap, "group.id": fresh("reader"), "enable.auto.commit": False}
        )
        try:
            ends = {(topic, number): end for topic in topics for number, end in self.ends(topic).items() if end > 0}
            reader.assign([TopicPartition(topic, number, 0) for topic, number in ends])
            deadline = time.monotonic() + PATIENCE_S
            while ends:
                assert time.monotonic() < deadline, f"still to be read: {ends}"
                message = reader.poll(1.0)
                if message is None:
                    continue
                assert not message.error(), message.error()
                yield message
                at = (message.topic(), message.partition())
                if message.offset() + 1 >= ends.get(at, 0):
                    ends.pop(at, None)
        finally:
            reader.close()

    def spans(self, *topics):
        """How often each span stands in these topics, by its id."""
        counted = Counter()
        for message in self.messages(*topics):
            for resource in ExportTraceServiceRequest.FromString(message.value()).resource_spans:
                for scope in resource.scope_spans:
                    counted.update(span.span_id.hex() for span in scope.spans)
        return counted
