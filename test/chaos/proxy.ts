import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { type Api, correlationOf, createFrameCutter, type KafkaRequest, readRequest } from './frames.ts';

/** What happens to a request that a rule meets. */
export type Mischief =
  /** The broker does it, and the connection is cut instead of an answer. */
  | { readonly do: 'cut' }
  /** The broker does it, and no answer ever comes. */
  | { readonly do: 'silence' }
  /** It never comes to the broker, and no answer comes. */
  | { readonly do: 'lose' }
  /** It waits here, and all that follows on its connection behind it; then it goes on, even if its client is gone. */
  | { readonly do: 'hold'; readonly ms: number }
  /** The broker does it; the client is told that nothing comes any more, and may go on writing. */
  | { readonly do: 'half-close' };

/** A fault that waits for its request. */
export interface Rule {
  readonly api: Api;
  /** The name of the client that is met; any, unless said. */
  readonly clientId?: string;
  /** The how manieth such request from now is met, from 1 on. */
  readonly nth: number;
  readonly mischief: Mischief;
}

/** A proxy before one broker. */
export interface KafkaProxy {
  /** Waits for a request; answers whose it was, or undefined when nothing more happens. */
  readonly add: (rule: Rule) => Promise<KafkaRequest | undefined>;
  /** No rule waits any more; what is held goes on. */
  readonly calm: () => void;
  readonly close: () => Promise<void>;
}

interface Waiting extends Rule {
  left: number;
  readonly met: (request: KafkaRequest | undefined) => void;
}

/** Starts it: clients come to `port`, the broker listens on `brokerPort` and tells them so. */
export async function startKafkaProxy(options: {
  readonly port: number;
  readonly brokerPort: number;
}): Promise<KafkaProxy> {
  let rules: Waiting[] = [];
  const sockets = new Set<Socket>();
  const releases = new Set<() => void>();

  const meet = (request: KafkaRequest): Mischief | undefined => {
    for (const rule of rules) {
      if (rule.api !== request.api || (rule.clientId ?? request.clientId) !== request.clientId) continue;
      rule.left--;
      if (rule.left > 0) continue;
      rules = rules.filter((each) => each !== rule);
      rule.met(request);
      return rule.mischief;
    }
    return undefined;
  };

  const serve = (client: Socket): void => {
    const broker = connect({ host: '127.0.0.1', port: options.brokerPort });
    const unanswered = new Map<number, 'cut' | 'silence'>();
    const [requests, answers] = [createFrameCutter(), createFrameCutter()];
    let held: Buffer[] | undefined;
    let isClientGone = false;
    for (const socket of [client, broker]) {
      sockets.add(socket);
      socket.setNoDelay(true);
      // A connection that breaks is closed: both events say the same.
      socket.on('error', () => socket.destroy());
      socket.on('close', () => sockets.delete(socket));
    }

    const hold = (ms: number): void => {
      held = [];
      const release = (): void => {
        clearTimeout(timer);
        releases.delete(release);
        const waiting = held ?? [];
        held = undefined;
        // The first one has met its rule; those behind it are met now.
        const [first, ...rest] = waiting;
        if (first !== undefined && broker.writable) broker.write(first);
        for (const frame of rest) take(frame);
        if (isClientGone && held === undefined) broker.end();
      };
      const timer = setTimeout(release, ms);
      releases.add(release);
    };
    const take = (frame: Buffer): void => {
      if (held !== undefined) {
        held.push(frame);
        return;
      }
      const request = readRequest(frame);
      const mischief = meet(request);
      switch (mischief?.do) {
        case 'lose':
          return;
        case 'hold':
          hold(mischief.ms);
          take(frame);
          return;
        case 'cut':
        case 'silence':
          unanswered.set(request.correlationId, mischief.do);
          break;
        case 'half-close':
          client.end();
          break;
        case undefined:
          break;
      }
      if (broker.writable) broker.write(frame);
    };

    client.on('data', (piece: Buffer) => {
      for (const frame of requests(piece)) take(frame);
    });
    client.on('end', () => client.end());
    client.on('close', () => {
      isClientGone = true;
      if (held === undefined) broker.end();
    });
    broker.on('data', (piece: Buffer) => {
      for (const frame of answers(piece)) {
        const fate = unanswered.get(correlationOf(frame));
        unanswered.delete(correlationOf(frame));
        if (fate === 'cut') client.destroy();
        if (fate === undefined && client.writable) client.write(frame);
      }
    });
    broker.on('close', () => client.destroy());
  };

  const server = createServer({ allowHalfOpen: true }, serve);
  server.listen(options.port, '127.0.0.1');
  await once(server, 'listening');

  const calm = (): void => {
    for (const { met } of rules) met(undefined);
    rules = [];
    for (const release of releases) release();
  };
  return {
    add: (rule) =>
      new Promise((met) => {
        rules.push({ ...rule, left: rule.nth, met });
      }),
    calm,
    async close() {
      calm();
      server.close();
      for (const socket of sockets) socket.destroy();
      await once(server, 'close');
    },
  };
}
