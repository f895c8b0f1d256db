import { type Binding, bindingKey, bindings } from '../../../schemas/binding.ts';
import { requireFilter } from '../../../shared/cel/filter.ts';
import { BusError } from '../../../shared/errors.ts';
import { tableOf } from '../../../shared/runtime/tables.ts';
import type { Table } from '../../../shared/stage/stage.ts';

/** A binding as it is not, to see what it would do: with another filter, with none, or not there at all. */
export interface Trial {
  readonly agentUid: string;
  readonly name: string;
  readonly change: { readonly filter: string | undefined } | 'absent';
}

/** The bindings with a trial among them. What is tried counts as enabled and available. Throws `binding-not-found`. */
export function withTrial(present: Table<Binding>, { agentUid, name, change }: Trial): Table<Binding> {
  const key = bindingKey({ agentUid, name });
  const binding = present.get(key);
  if (binding === undefined) throw new BusError('binding-not-found', { agent: agentUid, name });
  const tried = tableOf(bindings);
  for (const each of present.all()) tried.set(bindingKey(each), each);
  if (change === 'absent') {
    tried.delete(key);
    return tried;
  }
  const { filter } = change;
  requireFilter(filter);
  const filters = filter === undefined ? {} : { cel: filter };
  tried.set(key, { ...binding, filters, enabled: true, unavailableReason: null });
  return tried;
}
