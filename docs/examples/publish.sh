#!/bin/sh
# Publishes one fact straight to the log with kcat.
# usage: KAFKA_BROKERS=… SCHEMA_REGISTRY_URL=… publish.sh <provider> <connection> <event> <event id> <body file>
set -eu
: "${KAFKA_BROKERS:?the brokers, host:port}" "${SCHEMA_REGISTRY_URL:?the registry, http://host:port/path}"
provider=$1 connection=$2 event=$3 event_id=$4 body=$5
topic=raw-provider-facts

schema_id=$(curl -fsS "$SCHEMA_REGISTRY_URL/subjects/$topic-value/versions/latest" | jq .id)
message=$(mktemp)
trap 'rm -f "$message"' EXIT

# The frame: a zero byte, the schema's id in four bytes, most significant first.
# shellcheck disable=SC2059
printf "$(printf '\\000\\%03o\\%03o\\%03o\\%03o' \
  $((schema_id >> 24 & 255)) $((schema_id >> 16 & 255)) $((schema_id >> 8 & 255)) $((schema_id & 255)))" >"$message"
jq -cjn --arg provider "$provider" --arg connection "$connection" --arg event "$event" --arg id "$event_id" \
  --rawfile body "$body" --argjson now "$(date +%s)000" \
  '{provider: $provider, connectionId: $connection, kind: "direct", event: $event, eventId: $id,
    receivedAt: $now, body: $body, bodyEncoding: "utf-8"}' >>"$message"

# Given as a file, the bytes are one message, line ends and all. The partitioner is that of every other producer.
kcat -P -b "$KAFKA_BROKERS" -t "$topic" -k "$event_id" -X acks=all -X topic.partitioner=murmur2_random "$message"
