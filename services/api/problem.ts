import { z } from 'zod';
import { BusError, type ErrorCode, type ErrorEntry, errors } from '../../shared/errors.ts';

/** How every error is told: problem details of RFC 9457, with our stable code. */
export const Problem = z.object({
  type: z.string().describe('The code as a URI.'),
  title: z.string().describe('What the code means.'),
  status: z.int(),
  code: z.string().describe('Stable; docs/reference/errors.md lists all of them.'),
  retry: z.boolean().describe('Whether the same request may succeed later.'),
  fix: z.string().describe('What to do next.'),
  details: z.record(z.string(), z.json()).optional().describe('Which member, and why.'),
});
export type Problem = z.infer<typeof Problem>;

/** The media type of a problem. */
export const problemType = 'application/problem+json';

const ours = 500;

/** Tells an error. What is no `BusError` is a fault; of those that are not the caller's doing, nothing is told but the code. */
export function problemOf(error: unknown): Problem & { readonly code: ErrorCode } {
  const code: ErrorCode = error instanceof BusError ? error.code : 'api-fault';
  const { status, meaning, retry, fix }: ErrorEntry = errors[code];
  const told = error instanceof BusError && status < ours && Object.keys(error.details).length > 0;
  return {
    type: `urn:signalbox:error:${code}`,
    title: meaning,
    status,
    code,
    retry,
    fix,
    // Details are texts, numbers and lists of them, as logs and the command line print them.
    ...(told && { details: JSON.parse(JSON.stringify(error.details)) as Record<string, z.core.util.JSONType> }),
  };
}

const fromServer: Readonly<Record<string, ErrorCode>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: 'body-too-large',
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'media-type-unsupported',
  FST_ERR_CTP_EMPTY_JSON_BODY: 'body-malformed',
  FST_ERR_CTP_INVALID_JSON_BODY: 'body-malformed',
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: 'body-malformed',
};

/** An error of the HTTP server as one of ours: its own texts quote what came. */
export function fromServerError(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof BusError) return error;
  const name = 'code' in error && typeof error.code === 'string' ? error.code : '';
  const known = fromServer[name];
  if (known !== undefined) return new BusError(known);
  const status = 'statusCode' in error ? error.statusCode : undefined;
  return status === 400 ? new BusError('body-malformed') : error;
}
