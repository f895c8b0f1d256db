import type { Socket } from 'node:net';
import type { Log } from '../../shared/runtime/log.ts';
import type { ApiSettings } from './config.ts';

/** The longest part of a path: ids of channels are long, and percent-encoded three times as long. */
const maxParamLength = 3_000;

/** Limits of the HTTP server. It keeps no log of its own: its lines would hold URLs and bytes of requests. */
export const serverOptions = (settings: ApiSettings) => ({
  logger: false,
  bodyLimit: settings.maxBodyBytes,
  requestTimeout: settings.requestTimeoutMs,
  keepAliveTimeout: settings.keepAliveMs,
  // The API answers while it closes, with a problem of its own form.
  return503OnClosing: false,
  exposeHeadRoutes: false,
  routerOptions: { maxParamLength },
  http: {
    maxHeaderSize: settings.maxHeaderBytes,
    headersTimeout: settings.requestTimeoutMs,
    // Node looks for slow requests every 30 seconds unless told otherwise.
    connectionsCheckingInterval: Math.min(settings.requestTimeoutMs, 1_000),
  },
});

const lines: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
};

/** Ends a connection on which no request could be read. The error is not logged: it holds the bytes that came. */
export function refuseConnection(error: Error & { readonly code?: string }, socket: Socket, log: Log): void {
  if (error.code === 'ECONNRESET' || socket.destroyed) return;
  log.debug({ code: error.code }, 'no API request');
  const line = lines[error.code ?? ''] ?? '400 Bad Request';
  if (socket.writable) socket.write(`HTTP/1.1 ${line}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n`);
  socket.destroySoon();
}
