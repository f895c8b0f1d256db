import { z } from 'zod';
import { defineTopic } from './define.ts';
import { ConnectionId } from './ids.ts';

/** A secret at rest: AES-256-GCM under the key named `keyId`; base64 throughout. */
export const SealedSecret = z.object({
  keyId: z.string().min(1).max(64),
  nonce: z.base64(),
  ciphertext: z.base64(),
  tag: z.base64(),
});
export type SealedSecret = z.infer<typeof SealedSecret>;

/** One account at a provider. `config` has the provider's open settings, `secrets` its sealed ones by the same names. */
export const Connection = z.object({
  id: ConnectionId,
  provider: z.string().min(1).max(64),
  config: z.record(z.string(), z.json()),
  secrets: z.record(z.string(), z.array(SealedSecret).max(5)),
  updatedAt: z.int().nonnegative(),
});
export type Connection = z.infer<typeof Connection>;

/** The accounts at providers. */
export const connections = defineTopic<Connection>({
  name: 'connections',
  summary: 'The accounts at providers, their secrets sealed.',
  value: Connection,
  key: (connection) => connection.id,
  keep: 'compacted',
  example: Connection.parse({
    id: 'octo',
    provider: 'github',
    config: {},
    secrets: { webhookSecret: [{ keyId: 'k1', nonce: 'AAAA', ciphertext: 'AAAA', tag: 'AAAA' }] },
    updatedAt: 1_929_952_800_000,
  }),
});
