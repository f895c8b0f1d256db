#!/usr/bin/env bash
# Says something in a group chat, as an adapter of your own would: a typed fact, signed, over HTTP.
#   say.sh <connection> <channel> <author> <text> [<agent that it mentions>]
# CHAT_SECRET has the connection's webhookSecret in base64.
set -euo pipefail
[ $# -ge 4 ] || { sed -n '2,4s/^# *//p' "$0" >&2; exit 2; }

id=$(date +%s%N)
at=$(date +%s)
body=$(node -p 'const [id, channel, author, text, agent] = process.argv.slice(1);
  JSON.stringify({
    type: "entry_received", sourceEventId: `event-${id}`, sourceEntryId: id, signalChannelId: channel,
    channel: { kind: "im_group", replyMode: "entry" }, author: { id: author, kind: "user" }, text,
    ...(agent && { mentions: [{ kind: "bot", agentUid: agent }] }),
  })' "$id" "${@:2}")
key=$(printf %s "$CHAT_SECRET" | base64 -d | od -An -v -tx1 | tr -d ' \n')
signature=$(printf '%s.%s.%s' "$id" "$at" "$body" | openssl dgst -sha256 -mac HMAC -macopt "hexkey:$key" -binary | base64)

curl -sS "${INGRESS_URL:-http://127.0.0.1:8080}/webhooks/v1/typed-facts/$1/facts" \
  -H 'content-type: application/json' \
  -H "webhook-id: $id" -H "webhook-timestamp: $at" -H "webhook-signature: v1,$signature" \
  --data-binary "$body"
echo "  event-$id"
