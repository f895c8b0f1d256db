/** How an error is met. `retry`: trying again may help. `status`: its HTTP status. `fix`: what a person does next. */
export interface ErrorEntry {
  readonly retry: boolean;
  readonly status: number;
  readonly meaning: string;
  readonly fix: string;
}

/** Every way this system can fail, as callers, operators and dead letters see it. Codes are stable. */
export const errors = {
  'frame-invalid': {
    retry: false,
    status: 422,
    meaning: 'The record is not in the Confluent wire format: a zero byte, four bytes of schema id, JSON.',
    fix: 'Publish with the frame that docs/direct-publishing.md shows.',
  },
  'schema-unknown': {
    retry: false,
    status: 422,
    meaning: 'The registry knows no schema of the id in the frame.',
    fix: 'Publish with an id that `signalbox topics` prints.',
  },
  'contract-violated': {
    retry: false,
    status: 422,
    meaning: 'The value does not fit the contract of its topic.',
    fix: 'Compare the value with schemas/json; the details name the place.',
  },
  'stage-fault': {
    retry: false,
    status: 500,
    meaning: 'A stage threw while it decided: a fault of ours.',
    fix: 'Report the code, the details and the record; after the repair, `signalbox dlq redrive`.',
  },
  'output-too-large': {
    retry: false,
    status: 422,
    meaning: 'An output of this record is larger than its topic takes.',
    fix: 'Send less text, or raise `max.message.bytes` of the topic, then `signalbox dlq redrive`.',
  },
  'provider-unknown': {
    retry: false,
    status: 422,
    meaning: 'The raw fact names a provider that is not built in.',
    fix: 'Use a name that docs/reference/providers.md lists.',
  },
  'connection-unknown': {
    retry: false,
    status: 422,
    meaning: 'No connection of this id is configured.',
    fix: 'Create it with `signalbox connections put`, then `signalbox dlq redrive`.',
  },
  'payload-invalid': {
    retry: false,
    status: 422,
    meaning: 'The provider sent a body that does not fit what it documents for this event.',
    fix: 'Report the event; after the provider module was mended, `signalbox dlq redrive`.',
  },
  invalid_ingress_attrs: {
    retry: false,
    status: 422,
    meaning: 'A typed fact is no JSON object.',
    fix: 'Mend the adapter that sends it: one fact is one object.',
  },
  invalid_ingress_channel_attrs: {
    retry: false,
    status: 422,
    meaning: 'The `channel` of a typed fact is no JSON object.',
    fix: 'Mend the adapter that sends it, or leave `channel` out: what is not said erases nothing.',
  },
  missing_required_text: {
    retry: false,
    status: 422,
    meaning: 'A typed fact lacks a text that its type needs; a number or a blank is none.',
    fix: 'Mend the adapter that sends it; the details name the member.',
  },
  missing_session_id: {
    retry: false,
    status: 422,
    meaning: 'An action names neither its channel nor its session.',
    fix: 'Mend the adapter that sends it: one of `signalChannelId` and `sessionId` is needed.',
  },
  invalid_attachment_payload: {
    retry: false,
    status: 422,
    meaning: 'An attachment of a typed fact is no object, or a member of it is not what it has to be.',
    fix: 'Mend the adapter that sends it; the details name the attachment and the member. The whole entry was refused.',
  },
  'adapter-failed': {
    retry: false,
    status: 500,
    meaning: 'A provider module threw while it read a delivery: a fault of ours.',
    fix: 'Report the code, the details and the event; after the provider module was mended, `signalbox dlq redrive`.',
  },
  binding_unavailable: {
    retry: true,
    status: 503,
    meaning: 'A fact came while its connection was unavailable, since too many deliveries in a row could not be read.',
    fix: 'See the reason in `signalbox bindings list`; after the repair, `signalbox dlq redrive`.',
  },
  attachment_not_materialized: {
    retry: false,
    status: 422,
    meaning: 'An attachment has no reference by which its bytes can be found later.',
    fix: "Mend the provider's module so that it keeps the provider's reference, then `signalbox dlq redrive`.",
  },
  invalid_reply_interaction: {
    retry: false,
    status: 422,
    meaning: 'An action under the protocol of our own controls lacks what such an answer has.',
    fix: 'Compare its `value` with what the reply offered; the details name the place.',
  },
  invalid_binding_filter: {
    retry: false,
    status: 422,
    meaning: 'The filter of a binding failed, or gave something other than true or false.',
    fix: 'Correct the filter with `signalbox bindings put`, then `signalbox dlq redrive`.',
  },
  missing_actor_event_type: {
    retry: false,
    status: 422,
    meaning: 'An entry of a channel that is no conversation came without the type of its event.',
    fix: 'Let the provider module or the mapping name an event type, then `signalbox dlq redrive`.',
  },
  'signature-invalid': {
    retry: false,
    status: 401,
    meaning: 'No secret of the connection signed this request, or its time is not now.',
    fix: 'Compare the secret at the provider with that of `signalbox connections put`.',
  },
  'setting-invalid': {
    retry: false,
    status: 500,
    meaning: 'A setting is missing, unknown or out of its bounds.',
    fix: 'Correct the named variables; docs/reference/settings.md lists them all.',
  },
  'schema-incompatible': {
    retry: false,
    status: 409,
    meaning: 'A schema is not backward compatible with the registered one.',
    fix: 'Change topics by addition only; anything else is a new topic.',
  },
  'schema-missing': {
    retry: false,
    status: 500,
    meaning: 'The registry has no schema for a topic that this process writes.',
    fix: 'Run `signalbox migrate`.',
  },
  'topic-missing': {
    retry: false,
    status: 500,
    meaning: 'A topic does not exist.',
    fix: 'Run `signalbox migrate`.',
  },
  'partition-count-changed': {
    retry: false,
    status: 409,
    meaning: 'A topic has another number of partitions than the settings name.',
    fix: 'Set SIGNALBOX_PARTITIONS to the number that exists; growing needs a rebuild.',
  },
  'brokers-unsupported': {
    retry: false,
    status: 500,
    meaning: 'The brokers take none of the versions in which this client makes a request.',
    fix: 'Use brokers of Kafka 2.4 to 4.x, all of one version.',
  },
  'redis-may-evict': {
    retry: false,
    status: 500,
    meaning: 'The Redis may evict keys, which would change what stages remember.',
    fix: 'Set `maxmemory-policy noeviction` and start again.',
  },
  'offset-gap': {
    retry: false,
    status: 500,
    meaning: 'Records that a projection still needs have left the topic.',
    fix: 'Run `signalbox rebuild <stage>`, which begins at what is kept, and lengthen the retention.',
  },
  'rebuild-abandoned': {
    retry: false,
    status: 409,
    meaning: 'Somebody abandoned the rebuild that was running, or began another one.',
    fix: 'Run `signalbox rebuild <stage>` again if the rebuild is still wanted.',
  },
  'rebuild-adopted': {
    retry: false,
    status: 409,
    meaning: 'The rebuilt state is in use already: abandoning it would lose what was written since.',
    fix: 'Run `signalbox rebuild <stage>` again: it finishes what is left.',
  },
  'too-many-rejects': {
    retry: false,
    status: 500,
    meaning: 'A stage would have rejected many messages in a row for a fault of ours, and stopped before it sent them.',
    fix: 'Mend what the code in the details means and start again; RUNTIME_REJECTS_IN_A_ROW=0 rejects them all instead.',
  },
  'key-missing': {
    retry: false,
    status: 500,
    meaning: 'A sealed secret names a key that the settings do not have.',
    fix: 'Add the key to SIGNALBOX_SECRET_KEYS.',
  },
  'seal-broken': {
    retry: false,
    status: 500,
    meaning: 'A sealed secret was changed, moved from another place, or sealed by another key of the same id.',
    fix: 'Type the secret again with `signalbox connections put`.',
  },
  'infrastructure-unavailable': {
    retry: true,
    status: 503,
    meaning: 'Kafka, Redis or the schema registry did not answer.',
    fix: 'Check that they run and that the settings point at them.',
  },
  'record-too-large': {
    retry: false,
    status: 422,
    meaning: 'The broker refused a record as larger than its topic takes.',
    fix: 'Send less text, or raise `max.message.bytes` of the topic.',
  },
  'input-invalid': {
    retry: false,
    status: 422,
    meaning: 'What was typed does not fit what is expected.',
    fix: 'Correct the named members.',
  },
  'token-missing': {
    retry: false,
    status: 401,
    meaning: 'The request carries no bearer token.',
    fix: 'Send `Authorization: Bearer <token>`; `signalbox tokens create` makes one.',
  },
  'token-invalid': {
    retry: false,
    status: 401,
    meaning: 'No token of this text exists.',
    fix: 'Compare it with what `signalbox tokens create` printed, or make a new one.',
  },
  'token-revoked': {
    retry: false,
    status: 401,
    meaning: 'The token was revoked.',
    fix: 'Make a new one with `signalbox tokens create`.',
  },
  'token-expired': {
    retry: false,
    status: 401,
    meaning: 'The token has expired.',
    fix: 'Make a new one with `signalbox tokens create`.',
  },
  'scope-missing': {
    retry: false,
    status: 403,
    meaning: 'The token lacks the scope that this needs.',
    fix: 'Use a token with the named scope.',
  },
  'agent-forbidden': {
    retry: false,
    status: 403,
    meaning: 'The token is for other agents.',
    fix: 'Use a token for the named agent, or one for all agents where none is named.',
  },
  'connection-forbidden': {
    retry: false,
    status: 403,
    meaning: 'The connection is used by agents that the token is not for.',
    fix: 'Use a token for all agents, or a connection of your own.',
  },
  'rate-limited': {
    retry: true,
    status: 429,
    meaning: 'The token was used more often than the settings let it.',
    fix: 'Wait as long as `Retry-After` says; API_REQUESTS_PER_MINUTE is the limit.',
  },
  overloaded: {
    retry: true,
    status: 503,
    meaning: 'Too much waits at once.',
    fix: 'Try again; when it lasts, look at Kafka and Redis, or start more processes.',
  },
  'operation-not-found': {
    retry: false,
    status: 404,
    meaning: 'No operation has this method and path.',
    fix: 'Compare them with docs/openapi.json.',
  },
  'body-malformed': {
    retry: false,
    status: 400,
    meaning: 'The body is no JSON object, or did not come whole.',
    fix: 'Send one JSON object.',
  },
  'body-too-large': {
    retry: false,
    status: 413,
    meaning: 'The body is larger than the settings take.',
    fix: 'Send less, or raise API_MAX_BODY_BYTES.',
  },
  'media-type-unsupported': {
    retry: false,
    status: 415,
    meaning: 'The body is of another type than JSON.',
    fix: 'Send `Content-Type: application/json`.',
  },
  'api-fault': {
    retry: false,
    status: 500,
    meaning: 'The API failed: a fault of ours.',
    fix: 'Report the code and the lines of its log.',
  },
  signal_adapter_not_found: {
    retry: false,
    status: 404,
    meaning: 'No adapter of this name is built in.',
    fix: 'Use one that `GET /signal-adapters` lists.',
  },
  unknown_group_message_mode: {
    retry: false,
    status: 422,
    meaning: 'There is no group message mode of this name.',
    fix: 'Use addressed_only, observe_all or may_intervene.',
  },
  unsupported_group_message_mode: {
    retry: false,
    status: 422,
    meaning: 'The adapter does not have this group message mode.',
    fix: 'Use one that `GET /signal-adapters` lists for it.',
  },
  binding_target_conflict: {
    retry: false,
    status: 409,
    meaning: 'The agent that the binding would move to has an enabled binding of this name.',
    fix: 'Disable, delete or rename that one first.',
  },
  'connection-adapter-mismatch': {
    retry: false,
    status: 409,
    meaning: 'The connection is of another adapter.',
    fix: 'Name a connection of this adapter, or another id for a new one.',
  },
  'channel-not-found': {
    retry: false,
    status: 404,
    meaning: 'The mirror has no channel of this id.',
    fix: 'Check the id; a channel is there once a fact of it has passed a filter.',
  },
  'entry-not-found': {
    retry: false,
    status: 404,
    meaning: 'The mirror has no entry of this id in this channel.',
    fix: 'Check both ids; an entry that its provider removed is gone here too.',
  },
  'token-not-found': {
    retry: false,
    status: 404,
    meaning: 'No token of this id exists.',
    fix: 'List them with `signalbox tokens list`.',
  },
  'binding-not-found': {
    retry: false,
    status: 404,
    meaning: 'No binding of this agent and name exists.',
    fix: 'List them with `signalbox bindings list`.',
  },
  'connection-not-found': {
    retry: false,
    status: 404,
    meaning: 'No connection of this id exists.',
    fix: 'List them with `signalbox connections list`.',
  },
  'connection-in-use': {
    retry: false,
    status: 409,
    meaning: 'Bindings still use this connection.',
    fix: 'Delete the named bindings first.',
  },
  'journey-not-found': {
    retry: false,
    status: 404,
    meaning: 'Nothing is known of this id.',
    fix: 'Check the id; journeys are kept as long as `decisions` (7 days), and a new one needs a moment.',
  },
  'dead-letter-not-found': {
    retry: false,
    status: 404,
    meaning: 'No dead letter lies at this position.',
    fix: 'List them with `signalbox dlq list`; they are kept for 30 days.',
  },
  'tool-missing': {
    retry: false,
    status: 500,
    meaning: 'A program that the infrastructure needs is not installed.',
    fix: 'Install what the details name, or set KAFKA_BROKERS, REDIS_URL and SCHEMA_REGISTRY_URL.',
  },
  'port-taken': {
    retry: false,
    status: 500,
    meaning: 'Another process listens on a port that this one needs.',
    fix: 'Stop the other process, or name another port in the settings.',
  },
  'start-failed': {
    retry: true,
    status: 500,
    meaning: 'A process of the infrastructure did not come up.',
    fix: 'Read the log that the details name.',
  },
} as const satisfies Record<string, ErrorEntry>;

/** A stable error code. */
export type ErrorCode = keyof typeof errors;

/** A failure with a stable code. Its message is fixed text; values are in `details`, the reason in `cause`. */
export class BusError extends Error {
  readonly code: ErrorCode;
  readonly details: Readonly<Record<string, unknown>>;

  constructor(code: ErrorCode, details: Readonly<Record<string, unknown>> = {}, cause?: unknown) {
    super(errors[code].meaning, cause === undefined ? undefined : { cause });
    this.name = 'BusError';
    this.code = code;
    this.details = details;
  }
}
