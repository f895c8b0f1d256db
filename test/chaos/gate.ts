import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

/** A way to a server that can be shut, and made long. */
export interface Gate {
  readonly port: number;
  /** Cuts every connection, and each new one at once, until it is opened again. */
  readonly shut: () => void;
  readonly open: () => void;
  /** Each piece of an answer comes so much later. */
  readonly delay: (ms: number) => void;
  readonly close: () => Promise<void>;
}

/** Opens a gate on a free port before a server of this machine. */
export async function startGate(targetPort: number): Promise<Gate> {
  const sockets = new Set<Socket>();
  let [isShut, delayMs] = [false, 0];
  const server = createServer((client) => {
    if (isShut) {
      client.destroy();
      return;
    }
    const target = connect({ host: '127.0.0.1', port: targetPort });
    for (const socket of [client, target]) {
      sockets.add(socket);
      socket.on('error', () => socket.destroy());
    }
    client.on('close', () => {
      sockets.delete(client);
      target.destroy();
    });
    target.on('close', () => {
      sockets.delete(target);
      client.destroy();
    });
    client.on('data', (piece) => target.write(piece));
    target.on('data', (piece) => {
      if (delayMs === 0) client.write(piece);
      else setTimeout(() => client.writable && client.write(piece), delayMs);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const cutAll = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    shut() {
      isShut = true;
      cutAll();
    },
    open() {
      isShut = false;
      delayMs = 0;
    },
    delay(ms) {
      delayMs = ms;
    },
    async close() {
      server.close();
      cutAll();
      await once(server, 'close');
    },
  };
}
