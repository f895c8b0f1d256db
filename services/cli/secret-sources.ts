import { readFileSync } from 'node:fs';
import { BusError } from '../../shared/errors.ts';
import type { Environment } from '../../shared/runtime/connection-settings.ts';
import { Secret } from '../../shared/secret.ts';

/** Where a secret comes from. Never the command line itself: others on the machine can read that. */
export type SecretSource =
  | { readonly from: 'environment'; readonly variable: string }
  | { readonly from: 'file'; readonly path: string }
  | { readonly from: 'input' };

/** A secret setting that was named, and where its value comes from. */
export interface NamedSource {
  readonly name: string;
  readonly source: SecretSource;
}

/** Reads `webhookSecret=env:NAME`, `=file:PATH` or `=-`; undefined when it is none of them. */
export function parseSource(text: string): NamedSource | undefined {
  const match = /^([A-Za-z][A-Za-z0-9]{0,63})=(?:env:([A-Za-z_][A-Za-z0-9_]*)|file:(.+)|-)$/.exec(text);
  if (match === null) return undefined;
  const [, name = '', variable, path] = match;
  if (variable !== undefined) return { name, source: { from: 'environment', variable } };
  if (path !== undefined) return { name, source: { from: 'file', path } };
  return { name, source: { from: 'input' } };
}

/** Fetches a secret. Throws `input-invalid` where there is nothing. */
export async function readSecret(
  { name, source }: NamedSource,
  world: { readonly environment: Environment; readonly ask: (question: string) => Promise<string> },
): Promise<Secret> {
  const text = await textOf({ name, source }, world);
  if (text === undefined || text === '') throw new BusError('input-invalid', { '--secret': `${name}: nothing there` });
  return new Secret(text);
}

async function textOf(
  { name, source }: NamedSource,
  world: Parameters<typeof readSecret>[1],
): Promise<string | undefined> {
  switch (source.from) {
    case 'environment':
      return world.environment[source.variable];
    case 'file':
      try {
        return readFileSync(source.path, 'utf8').replace(/\r?\n$/, '');
      } catch (cause) {
        throw new BusError('input-invalid', { '--secret': `${name}: the file cannot be read` }, cause);
      }
    case 'input':
      return world.ask(name);
  }
}
