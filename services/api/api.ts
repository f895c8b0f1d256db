import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import type { Token } from '../../schemas/token.ts';
import { BusError, type ErrorCode } from '../../shared/errors.ts';
import { type AnyOperation, type Caller, mayActFor, routeOf } from '../../shared/operation.ts';
import { faultOf } from '../../shared/runtime/fault.ts';
import type { Log } from '../../shared/runtime/log.ts';
import type { Table } from '../../shared/stage/stage.ts';
import { authenticate } from '../../shared/token.ts';
import type { ApiSettings } from './config.ts';
import { inputOf } from './input.ts';
import { operations as allOperations } from './operations/index.ts';
import { fromServerError, problemOf, problemType } from './problem.ts';
import { createRateLimit } from './rate-limit.ts';
import { refuseConnection, serverOptions } from './server.ts';
import type { ApiWorld } from './world.ts';

/** What the API needs of the world. */
export interface ApiOptions extends ApiWorld {
  readonly tokens: Pick<Table<Token>, 'get'>;
  readonly settings: ApiSettings;
  readonly log: Log;
  /** Hears of every request's end, in labels from closed sets. */
  readonly onAnswer?: (counted: { readonly operation: string; readonly outcome: ErrorCode | 'ok' }) => void;
  /** Those of the product, unless a test names its own. */
  readonly operations?: readonly AnyOperation<ApiWorld>[];
}

/** What is known of a request on its way. */
interface Asked {
  caller?: Token;
  operation?: AnyOperation<ApiWorld>;
}

const notFound = 'none';

/** Builds the API: every operation at its method and path, and the same form of problem for everything else. */
export function buildApi(options: ApiOptions): FastifyInstance {
  const { settings, log, tokens, now, operations = allOperations, onAnswer = () => undefined } = options;
  const limit = createRateLimit({ perMinute: settings.requestsPerMinute, burst: settings.burst });
  const asked = new WeakMap<FastifyRequest, Asked>();
  let closing = false;

  const answer = (
    request: FastifyRequest,
    reply: FastifyReply,
    end: { readonly value: unknown } | { readonly error: unknown },
  ) => {
    const { caller, operation } = asked.get(request) ?? {};
    const problem = 'error' in end ? problemOf(end.error) : undefined;
    const outcome = problem?.code ?? 'ok';
    onAnswer({ operation: operation?.name ?? notFound, outcome });
    const fields = { operation: operation?.name, token: caller?.id, ms: Math.round(reply.elapsedTime) };
    if (problem === undefined) {
      // Who changed what can be asked later; who looked, only where somebody wants to know.
      const level = operation === undefined || routeOf(operation).method === 'GET' ? 'debug' : 'info';
      log[level](fields, 'API request answered');
    } else if (problem.code === 'api-fault') {
      log.error({ ...fields, ...('error' in end && faultOf(end.error)), code: problem.code }, 'API request failed');
    } else log.warn({ ...fields, code: problem.code }, 'API request refused');

    reply
      .code(problem?.status ?? 200)
      .header('cache-control', 'no-store')
      .header('x-content-type-options', 'nosniff');
    if (closing) reply.header('connection', 'close');
    if (problem === undefined)
      return reply.type('application/json; charset=utf-8').send(JSON.stringify((end as { value: unknown }).value));
    const { details } = problem;
    if (problem.status === 401) reply.header('www-authenticate', challengeOf(problem.code));
    if (problem.status === 429) reply.header('retry-after', String(details?.retryAfterSeconds ?? 1));
    if (problem.status === 503) reply.header('retry-after', '1');
    return reply.type(problemType).send(JSON.stringify(problem));
  };

  const app = Fastify({
    ...serverOptions(settings),
    clientErrorHandler: (error, socket) => refuseConnection(error, socket, log),
    frameworkErrors: (_error, request, reply) => {
      answer(request, reply, { error: new BusError('operation-not-found') });
    },
  });
  app.server.maxConnections = settings.maxConnections;
  app.removeContentTypeParser('text/plain');

  // Who calls comes first: neither path nor body is looked at for somebody unknown.
  app.addHook('onRequest', async (request, reply) => {
    if (closing) return answer(request, reply, { error: new BusError('overloaded') });
    const authentication = authenticate(request.headers.authorization, { tokens, now: now() });
    if (!authentication.ok) return answer(request, reply, { error: new BusError(authentication.code) });
    const { token } = authentication;
    asked.set(request, { caller: token });
    const taken = limit.take(token.id, now());
    if (taken.ok) return undefined;
    const retryAfterSeconds = Math.ceil(taken.waitMs / 1_000);
    return answer(request, reply, { error: new BusError('rate-limited', { retryAfterSeconds }) });
  });

  // Without somebody who hears of the end Fastify takes no time, and every request seems to last 0 ms.
  app.addHook('onResponse', (_request, _reply, done) => done());
  app.addHook('preClose', async () => {
    closing = true;
    if (!app.server.listening) return;
    const deadline = setTimeout(() => app.server.closeAllConnections(), settings.closeTimeoutMs);
    app.server.once('close', () => clearTimeout(deadline));
  });
  app.setErrorHandler((error, request, reply) => answer(request, reply, { error: fromServerError(error) }));
  app.setNotFoundHandler((request, reply) => answer(request, reply, { error: new BusError('operation-not-found') }));

  for (const operation of operations) {
    const { method, path } = routeOf(operation);
    app.route<{ Params: Record<string, unknown>; Querystring: Record<string, unknown> }>({
      method,
      url: path,
      // Before the body is read.
      async onRequest(request, reply) {
        const known = asked.get(request);
        if (known?.caller === undefined) return answer(request, reply, { error: new BusError('token-missing') });
        known.operation = operation;
        const refusal = refusalOf(operation, known.caller);
        return refusal === undefined ? undefined : answer(request, reply, { error: refusal });
      },
      async handler(request, reply) {
        const caller = asked.get(request)?.caller;
        if (caller === undefined) return answer(request, reply, { error: new BusError('token-missing') });
        try {
          const input = inputOf(operation, request);
          refuseOtherAgents(operation, input, caller);
          const output: unknown = await operation.handle(input, options, caller);
          // What the operation does not declare does not leave.
          return answer(request, reply, { value: operation.output.parse(output) });
        } catch (error) {
          return answer(request, reply, { error });
        }
      },
    });
  }
  return app;
}

const challengeOf = (code: ErrorCode): string =>
  code === 'token-missing' ? 'Bearer realm="signalbox"' : 'Bearer realm="signalbox", error="invalid_token"';

function refusalOf(operation: AnyOperation<ApiWorld>, caller: Caller): BusError | undefined {
  if (!caller.scopes.includes(operation.scope)) return new BusError('scope-missing', { scope: operation.scope });
  if (operation.reach === 'all' && caller.agents !== null) return new BusError('agent-forbidden');
  return undefined;
}

function refuseOtherAgents(operation: AnyOperation<ApiWorld>, input: unknown, caller: Caller): void {
  if (operation.reach !== 'agent') return;
  // `defineOperation` has seen to it that such an input names its agent.
  const { agentUid } = input as { readonly agentUid: string };
  if (!mayActFor(caller, agentUid)) throw new BusError('agent-forbidden', { agentUid });
}
