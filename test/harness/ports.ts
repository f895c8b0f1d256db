import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { BusError } from '../../shared/errors.ts';

// Below the ports that systems give to outgoing connections: while a killed server is away, a client that tries to reach it
// there may be given the server's own port, connect to itself and keep the server from coming back.
const lowest = 15_000;
const highest = 32_000;

/** Whether nobody listens on a loopback port. */
export async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  const free = await new Promise<boolean>((resolve) => {
    server.once('error', () => resolve(false));
    server.listen({ host: '127.0.0.1', port, exclusive: true }, () => resolve(true));
  });
  if (free) {
    server.close();
    await once(server, 'close');
  }
  return free;
}

/** A loopback port on which nobody listens. */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < 1_000; tries += 1) {
    const port = randomInt(lowest, highest);
    if (await isFree(port)) return port;
  }
  throw new BusError('port-taken', { fix: `Free a port between ${lowest} and ${highest}.` });
}

/** The port that was asked for, if nobody listens on it. */
export async function askedPort(port: number): Promise<number> {
  if (await isFree(port)) return port;
  throw new BusError('port-taken', {
    port,
    fix: `Stop what listens on port ${port} (\`ss -ltnp sport = :${port}\` names it), or ask for another port.`,
  });
}
