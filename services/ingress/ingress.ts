import { randomUUIDv7 } from 'node:crypto';
import Fastify, { type FastifyError, type FastifyInstance } from 'fastify';
import type { Connection } from '../../schemas/connection.ts';
import type { AnyProvider } from '../../shared/provider.ts';
import { faultOf } from '../../shared/runtime/fault.ts';
import type { Log } from '../../shared/runtime/log.ts';
import type { Tracing } from '../../shared/runtime/tracing/tracing.ts';
import type { KeyRing } from '../../shared/sealing.ts';
import type { Table } from '../../shared/stage/index.ts';
import { createAnswers, type OnOutcome } from './answer.ts';
import type { IngressSettings } from './config.ts';
import { deliver, type Writes } from './deliver.ts';
import { firstHeaders } from './first-values.ts';
import { createGate } from './gate.ts';
import { outcomes } from './outcome.ts';
import { receive } from './receive.ts';
import { refuseConnection, serverOptions } from './server.ts';
import { createTargets, type Target, type WebhookPath } from './target.ts';

/** What the edge needs of the world. */
export interface IngressOptions extends Writes {
  readonly providers: ReadonlyMap<string, AnyProvider>;
  readonly connections: Pick<Table<Connection>, 'get'>;
  readonly keys: KeyRing;
  readonly settings: IngressSettings;
  /** Epoch milliseconds. */
  readonly now: () => number;
  readonly log: Log;
  /** Hears of every request's end, in labels from closed sets. */
  readonly onOutcome?: OnOutcome;
  /** Absent while tracing is off. */
  readonly tracing?: Pick<Tracing, 'webhook'> | undefined;
}

/** Builds the edge: `POST /webhooks/v1/:handlerId/:instanceId/:kind`, and a constant 404 for everything else. */
export function buildIngress(options: IngressOptions): FastifyInstance {
  const { settings, now, log, publish, decide, tracing } = options;
  const onOutcome = options.onOutcome ?? (() => undefined);
  const targets = createTargets(options);
  const gate = createGate({
    maxPending: settings.maxPending,
    maxPendingBytes: settings.maxPendingBytes,
    timeoutMs: settings.publishTimeoutMs,
    onLateFailure: (error) => log.warn(faultOf(error), 'publish failed after its answer'),
  });
  let bodies = 0;
  let closing = false;
  const answer = createAnswers({
    log,
    onOutcome,
    retryAfterSeconds: settings.retryAfterSeconds,
    isClosing: () => closing,
  });

  const app = Fastify({
    ...serverOptions(settings),
    clientErrorHandler: (error, socket) => refuseConnection({ error, socket, log, onOutcome }),
    frameworkErrors: (_error, _request, reply) => answer(reply, { outcome: 'unknown_webhook' }),
  });
  app.server.maxConnections = settings.maxConnections;
  // Nothing reads a body before the provider has proved its bytes. The hook below leaves no type for another parser.
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));

  app.addHook('onRequest', async (request, reply) => {
    if (closing) return answer(reply, { outcome: 'closing' });
    if (request.is404) return answer(reply, { outcome: 'unknown_webhook' });
    if (request.raw.rawHeaders.length > 2 * settings.maxHeaders) return answer(reply, { outcome: 'headers_too_large' });
    // Fastify would judge the type and choose a parser by it; it is the provider's business alone.
    delete request.raw.headers['content-type'];
    return undefined;
  });

  // Without somebody who hears of the end Fastify takes no time, and every request seems to last 0 ms.
  app.addHook('onResponse', (_request, _reply, done) => done());

  app.addHook('preClose', async () => {
    closing = true;
    if (!app.server.listening) return;
    const deadline = setTimeout(() => app.server.closeAllConnections(), settings.closeTimeoutMs);
    app.server.once('close', () => clearTimeout(deadline));
  });

  // Only what happens before the handler ends here: Fastify gives a body that did not come whole the status 400.
  app.setErrorHandler<FastifyError>((error, _request, reply) => {
    if (error.code === 'FST_ERR_CTP_BODY_TOO_LARGE') return answer(reply, { outcome: 'body_too_large' });
    if (error.statusCode === 400) return answer(reply, { outcome: 'body_cut' });
    return answer(reply, { outcome: 'failed', ...faultOf(error) });
  });

  app.post<{ Params: WebhookPath; Querystring: Readonly<Record<string, string>> }>(
    '/webhooks/v1/:handlerId/:instanceId/:kind',
    {
      // A URL that names nobody costs a look-up, and nothing of its body is taken.
      onRequest: async (request, reply) => {
        const target = targets.find(request.params);
        if (target === undefined) return answer(reply, { outcome: 'unknown_webhook' });
        if (bodies >= settings.maxBodies) return answer(reply, { outcome: 'overloaded', ...fieldsOf(target) });
        bodies += 1;
        reply.raw.once('close', () => {
          bodies -= 1;
        });
        return undefined;
      },
    },
    async (request, reply) => {
      // Asked again: the connection may have gone while the body came.
      const target = targets.find(request.params);
      if (target === undefined) return answer(reply, { outcome: 'unknown_webhook' });
      const id = randomUUIDv7();
      const fields = { ...fieldsOf(target), id };
      try {
        const webhook = {
          kind: request.params.kind,
          connectionId: target.connection.id,
          headers: firstHeaders(request.raw.rawHeaders),
          query: request.query,
          body: Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0),
        };
        const configs = targets.configsOf(target);
        const received = receive(webhook, { ...target, configs }, { id, now: now() });
        // Only what is genuine is told: others could fill the queue of spans.
        const span = received.type === 'fact' ? tracing?.webhook(id) : undefined;
        const ended = await deliver(received, {
          bytes: webhook.body.length,
          gate,
          publish: span === undefined ? publish : (fact) => publish(fact, span.traceparent),
          decide,
        });
        span?.end({
          provider: target.provider.name,
          connectionId: target.connection.id,
          startedAt: now() - reply.elapsedTime,
          status: outcomes[ended.outcome].status,
          traceparent: webhook.headers.traceparent,
        });
        return answer(reply, { ...fields, ...ended });
      } catch (error) {
        return answer(reply, { ...fields, outcome: 'failed', ...faultOf(error) });
      }
    },
  );
  return app;
}

const fieldsOf = ({ provider, connection }: Target) => ({ provider: provider.name, connectionId: connection.id });
