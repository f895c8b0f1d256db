import type { Socket } from 'node:net';
import type { Log } from '../../shared/runtime/log.ts';
import type { OnOutcome } from './answer.ts';
import type { IngressSettings } from './config.ts';
import { firstParameters } from './first-values.ts';
import { type Outcome, outcomes } from './outcome.ts';

/** Limits of the HTTP server. It keeps no log of its own: its lines would hold URLs and bytes of requests. */
export const serverOptions = (settings: IngressSettings) => ({
  logger: false,
  trustProxy: settings.trustProxy,
  bodyLimit: settings.maxBodyBytes,
  requestTimeout: settings.requestTimeoutMs,
  keepAliveTimeout: settings.keepAliveMs,
  // The edge answers while it closes, with its own constant.
  return503OnClosing: false,
  routerOptions: { querystringParser: firstParameters },
  http: {
    maxHeaderSize: settings.maxHeaderBytes,
    headersTimeout: settings.requestTimeoutMs,
    // Node looks for slow requests every 30 seconds unless told otherwise.
    connectionsCheckingInterval: Math.min(settings.requestTimeoutMs, 1_000),
  },
});

const refusals: Readonly<Record<string, { readonly outcome: Outcome; readonly line: string }>> = {
  HPE_HEADER_OVERFLOW: { outcome: 'headers_too_large', line: '431 Request Header Fields Too Large' },
  ERR_HTTP_REQUEST_TIMEOUT: { outcome: 'body_cut', line: '408 Request Timeout' },
};
const malformed = { outcome: 'malformed', line: '400 Bad Request' } as const;

/** Ends a connection on which no request could be read. The error is not logged: it holds the bytes that came. */
export function refuseConnection(options: {
  readonly error: Error & { readonly code?: string };
  readonly socket: Socket;
  readonly log: Log;
  readonly onOutcome: OnOutcome;
}): void {
  const { error, socket, log, onOutcome } = options;
  if (error.code === 'ECONNRESET' || socket.destroyed) return;
  const { outcome, line } = refusals[error.code ?? ''] ?? malformed;
  log.debug({ code: error.code }, outcomes[outcome].message);
  onOutcome({ provider: 'unknown', outcome });
  if (socket.writable) socket.write(`HTTP/1.1 ${line}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n`);
  socket.destroySoon();
}
