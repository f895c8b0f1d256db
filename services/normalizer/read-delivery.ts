import type { RawProviderFact } from '../../schemas/raw-provider-fact.ts';
import {
  type AnyProvider,
  type Normalization,
  type OwnIds,
  ownershipOf,
  type ProviderEvent,
  type ProviderFact,
  readBody,
} from '../../shared/provider.ts';
import { thrownOf } from '../../shared/thrown.ts';
import { bodyText } from './body.ts';

/** A fact and its number within its delivery, which it keeps whatever the others are. */
export interface Numbered {
  readonly number: number;
  readonly fact: ProviderFact;
}

/** What a provider module made of a delivery. `count` counts the facts that were our own too. */
export type Reading =
  | { readonly type: 'facts'; readonly facts: readonly Numbered[]; readonly count: number }
  | Exclude<Normalization, { readonly type: 'facts' }>
  | { readonly type: 'own'; readonly reason: string }
  | { readonly type: 'failed'; readonly thrown: ReturnType<typeof thrownOf> };

/** Reads a delivery. What a provider module throws is its failure on this one delivery, and stops nothing else. */
export function readDelivery(provider: AnyProvider, settings: OwnIds, raw: RawProviderFact): Reading {
  const text = bodyText(raw);
  if (text === undefined) return { type: 'invalid', issues: ['body: not UTF-8'] };
  try {
    return readText(provider, settings, { raw, text });
  } catch (error) {
    return { type: 'failed', thrown: thrownOf(error) };
  }
}

function readText(
  provider: AnyProvider,
  settings: OwnIds,
  { raw, text }: { readonly raw: RawProviderFact; readonly text: string },
): Reading {
  const body = readBody(provider, text);
  if (body === undefined) return { type: 'invalid', issues: ['body: not JSON'] };
  const event = { event: raw.event, eventId: raw.eventId, connectionId: raw.connectionId, body };
  const made = provider.normalize(event, settings);
  if (made.type !== 'facts') return made;
  if (made.facts.length === 0) return { type: 'ignored', reason: 'the event holds no fact' };

  const numbered = made.facts.map((fact, number) => ({ fact, number }));
  const { ownAccountIds = [], ownAppIds = [] } = settings;
  const facts =
    ownAccountIds.length + ownAppIds.length === 0
      ? numbered
      : numbered.flatMap(({ fact, number }) => {
          const others = ofOthers(fact, event, { provider, settings });
          return others === undefined ? [] : [{ fact: others, number }];
        });
  if (facts.length === 0) return { type: 'own', reason: 'it tells of what we wrote ourselves' };
  return { type: 'facts', facts, count: numbered.length };
}

/**
 * A fact without what we ourselves said: undefined where all of it is that. Our change to what another wrote is mirrored and
 * wakes nobody. A removal is told whoever made it: the mirror shows what the provider shows.
 */
function ofOthers(
  fact: ProviderFact,
  event: ProviderEvent,
  { provider, settings }: { readonly provider: AnyProvider; readonly settings: OwnIds },
): ProviderFact | undefined {
  if (fact.type === 'entry_lifecycle') return fact;
  switch (ownershipOf(provider.origin(fact, event), settings)) {
    case 'own':
      return undefined;
    case 'changed':
      return fact.type === 'entry_received' ? { ...fact, mirrorOnly: true } : fact;
    case 'other':
      return fact;
  }
}
