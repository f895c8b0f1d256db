import type { Binding } from '../../schemas/binding.ts';
import type { NormalizedFact } from '../../schemas/normalized-fact.ts';
import { explainFilter, type FilterResult } from '../../shared/cel/filter.ts';
import { filterVariables } from './signal.ts';

/** What a filter says of a fact: it passes, it does not, or the filter fails on it and the fact becomes a dead letter. */
export type TrialOutcome = 'passes' | 'filtered' | 'failed';

/** A part of the filter, and what it said alone. */
export interface TrialPart {
  readonly text: string;
  readonly outcome: 'true' | 'false' | 'failed';
  readonly reason?: string;
}

/** What a filter says of one fact and why. */
export interface Trial {
  readonly outcome: TrialOutcome;
  /** The part that decided, where the filter has parts; else the filter itself; of a failure what failed. */
  readonly reason: string;
  readonly parts: readonly TrialPart[];
}

const nameOf = (result: FilterResult): TrialPart['outcome'] =>
  result.type === 'failed' ? 'failed' : result.passes ? 'true' : 'false';

/** Tries a binding's filter on a fact, whether the binding is enabled or not. */
export function tryFilter(
  binding: Binding,
  fact: NormalizedFact,
  { at, maxWork }: { readonly at: number; readonly maxWork: number },
): Trial {
  const { cel } = binding.filters;
  if (cel === undefined) return { outcome: 'passes', reason: 'there is no filter', parts: [] };
  const { result, parts } = explainFilter(cel, filterVariables(binding, fact, at), maxWork);
  const told = parts.map(
    (part): TrialPart => ({
      text: part.text,
      outcome: nameOf(part.result),
      ...(part.result.type === 'failed' && { reason: part.result.reason }),
    }),
  );
  if (result.type === 'failed') return { outcome: 'failed', reason: result.reason, parts: told };
  const decisive = told.filter(({ outcome }) => outcome === nameOf(result));
  // Of parts that `&&` joins, all must be true for a pass and one false is enough against it; `||` is the other way round.
  const deciding = decisive.length === told.length ? undefined : decisive[0];
  const part = deciding === undefined ? 'the filter' : deciding.text;
  return result.passes
    ? { outcome: 'passes', reason: `${part} is true`, parts: told }
    : { outcome: 'filtered', reason: `${part} is false`, parts: told };
}
