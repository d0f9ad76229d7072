"""A member of a consumer group beside Plimsoll's, in a process of its own so that it can die at the worst moment.

    python static_member.py BROKERS TOPIC GROUP NAME [dies]

It says on standard output how many partitions it has, whenever that changes. One that `dies` does so when it is told
to let partitions go: before the group finds together again to give them away.
"""

import os
import sys

from confluent_kafka import Consumer


def main(brokers, topic, group, name, *dies):
    """Reads for ever, or until it dies."""
    has = set()

    def say():
        print(len(has), flush=True)

    def taken(consumer, partitions):
        has.update(at.partition for at in partitions)
        consumer.incremental_assign(partitions)
        say()

    def let_go(consumer, partitions):
        if dies:
            os._exit(9)
        has.difference_update(at.partition for at in partitions)
        consumer.incremental_unassign(partitions)
        say()

    member = Consumer(
        {
            "bootstrap.servers": brokers,
            "group.id": group,
            "group.instance.id": name,
            "partition.assignment.strategy": "cooperative-sticky",
            "session.timeout.ms": 6000,
            "auto.offset.reset": "earliest",
        }
    )
    member.subscribe([topic], on_assign=taken, on_revoke=let_go)
    while True:
        member.poll(0.1)


if __name__ == "__main__":
    main(*sys.argv[1:])
