"""Publishes one fact straight to the log.

usage: KAFKA_BROKERS=… SCHEMA_REGISTRY_URL=… publish.py <provider> <connection> <event> <event id> <body file>
needs: pip install confluent-kafka
"""

import json
import os
import struct
import sys
import time
import urllib.request
from pathlib import Path

from confluent_kafka import Producer

TOPIC = "raw-provider-facts"


def schema_id() -> int:
    """The id under which the registry has the topic's newest contract."""
    url = f"{os.environ['SCHEMA_REGISTRY_URL']}/subjects/{TOPIC}-value/versions/latest"
    with urllib.request.urlopen(url, timeout=10) as answer:
        return json.load(answer)["id"]


def frame(schema: int, value: dict) -> bytes:
    """The Confluent wire format: a zero byte, the schema's id, most significant byte first, JSON."""
    return struct.pack(">bI", 0, schema) + json.dumps(value, ensure_ascii=False).encode()


def main() -> None:
    provider, connection, event, event_id, body = sys.argv[1:]
    fact = {
        "provider": provider,
        "connectionId": connection,
        "kind": "direct",
        "event": event,
        "eventId": event_id,
        "receivedAt": time.time_ns() // 1_000_000,
        "body": Path(body).read_bytes().decode(),
        "bodyEncoding": "utf-8",
    }
    producer = Producer(
        {
            "bootstrap.servers": os.environ["KAFKA_BROKERS"],
            "enable.idempotence": True,
            "partitioner": "murmur2_random",
        }
    )
    failures = []
    producer.produce(
        TOPIC,
        key=event_id.encode(),
        value=frame(schema_id(), fact),
        on_delivery=lambda error, _: failures.append(error) if error else None,
    )
    if producer.flush(30) > 0 or failures:
        sys.exit(f"not delivered: {failures or 'no answer within 30 s'}")


if __name__ == "__main__":
    main()
