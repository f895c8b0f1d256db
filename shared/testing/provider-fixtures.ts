import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { z } from 'zod';

/** One recorded delivery of a provider, scrubbed, and the values in it that a right reading must find. */
const ProviderFixture = z.object({
  name: z.string(),
  about: z.string(),
  request: z.object({ headers: z.record(z.string(), z.string()), query: z.record(z.string(), z.string()).default({}) }),
  body: z.json(),
  anchors: z.record(z.string(), z.json()),
});
export type ProviderFixture = z.infer<typeof ProviderFixture>;

/** A signature of public record, or a spoilt one. `now` is in seconds; schemes without a time have none. */
const SignatureVector = z.object({
  name: z.string(),
  secret: z.string(),
  headers: z.record(z.string(), z.string()),
  rawBody: z.string(),
  now: z.number().default(0),
  valid: z.boolean(),
});
export type SignatureVector = z.infer<typeof SignatureVector>;

const notDeliveries = /\.facts\.json$|^signatures\.json$/;

/** The deliveries in a provider's `fixtures/`, by the order of their names. */
export function deliveriesIn(folder: URL): readonly ProviderFixture[] {
  const files = readdirSync(folder).filter((name) => name.endsWith('.json') && !notDeliveries.test(name));
  return files.sort().map((name) => ProviderFixture.parse(readJson(new URL(name, folder))));
}

/** The signature vectors in a provider's `fixtures/`. */
export const signaturesIn = (folder: URL): readonly SignatureVector[] =>
  z.array(SignatureVector).parse(readJson(new URL('signatures.json', folder)));

/** What a golden file says; with `update`, it says the given value from now on. */
export function golden(file: URL, actual: unknown, { update }: { readonly update: boolean }): unknown {
  if (update) writeFileSync(file, `${JSON.stringify(actual, null, 2)}\n`);
  return readJson(file);
}

const readJson = (file: URL): unknown => JSON.parse(readFileSync(file, 'utf8'));
