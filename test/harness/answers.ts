import { connect } from 'node:net';

const patienceMs = 1_000;

/** What a server on a loopback port says first to some bytes; empty when it is not there, or says nothing in time. */
function firstReply(port: number, bytes: Uint8Array): Promise<Buffer> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port });
    const end = (reply: Buffer) => {
      socket.destroy();
      resolve(reply);
    };
    socket.setTimeout(patienceMs, () => end(Buffer.alloc(0)));
    // Not being there yet is what is being asked about, so it is an answer.
    socket.on('error', () => end(Buffer.alloc(0)));
    socket.on('close', () => end(Buffer.alloc(0)));
    socket.once('data', end);
    socket.write(bytes);
  });
}

// ApiVersions, version 0, correlation id 1, no client id. A broker replies only when it is ready for clients.
const apiVersions = Uint8Array.of(0, 0, 0, 10, 0, 18, 0, 0, 0, 0, 0, 1, 255, 255);

/** Whether a Kafka broker serves clients on this port. */
export async function kafkaAnswers(port: number): Promise<boolean> {
  const reply = await firstReply(port, apiVersions);
  return reply.length >= 8 && reply.readInt32BE(4) === 1;
}

/** Whether a Redis on this port has loaded its data. */
export async function redisAnswers(port: number): Promise<boolean> {
  const reply = await firstReply(port, Buffer.from('PING\r\n'));
  return reply.toString().startsWith('+PONG');
}

/** Whether a schema registry lists its subjects. */
export async function registryAnswers(url: string): Promise<boolean> {
  try {
    const response = await fetch(`${url}/subjects`, { signal: AbortSignal.timeout(patienceMs) });
    await response.arrayBuffer();
    return response.ok;
  } catch {
    // Refused, reset or late: it does not answer, which is what was asked.
    return false;
  }
}
