import type { z } from 'zod';
import type { Binding } from '../../schemas/binding.ts';
import type { Connection } from '../../schemas/connection.ts';
import type { ConnectionState } from '../../schemas/connection-state.ts';
import type { Place } from '../../schemas/define.ts';
import type { Question } from '../../shared/journey/find.ts';
import type { ToldJourneys } from '../../shared/journey/tell.ts';
import { type Operation, type Reach, routeOf } from '../../shared/operation.ts';
import type { AnyProvider } from '../../shared/provider.ts';
import type { RecentFacts } from '../../shared/runtime/recent-facts.ts';
import type { KeyRing } from '../../shared/sealing.ts';
import type { Table } from '../../shared/stage/stage.ts';
import type { ActorEventPage, FoundEvents } from './actor-events.ts';
import type { EntryPage, FoundEntries } from './channel-entries.ts';
import type { ChannelPage, FoundChannels } from './channels.ts';

/** The ways in which configuration is written. Each resolves when the tables below show it. */
export interface Writes {
  readonly putBinding: (binding: Binding) => Promise<void>;
  readonly removeBinding: (key: string) => Promise<void>;
  readonly putConnection: (connection: Connection) => Promise<void>;
}

/** What operations work with. */
export interface ApiWorld {
  readonly adapters: ReadonlyMap<string, AnyProvider>;
  readonly bindings: Table<Binding>;
  readonly connections: Table<Connection>;
  /** What the system found of connections. */
  readonly states: Table<ConnectionState>;
  readonly keys: KeyRing;
  /** Epoch milliseconds. */
  readonly now: () => number;
  /** One change after another, so that what a change reads is still so when it writes. */
  readonly change: <T>(work: (writes: Writes) => Promise<T>) => Promise<T>;
  readonly readMirror: <V>(place: Place<V>) => Promise<V | undefined>;
  readonly readChannels: (page: ChannelPage) => Promise<FoundChannels>;
  readonly readEntries: (page: EntryPage) => Promise<FoundEntries>;
  readonly readActorEvents: (page: ActorEventPage) => Promise<FoundEvents>;
  readonly recentFacts: (connectionId: string, last: number) => Promise<RecentFacts>;
  /** The work that a filter may take over one fact. */
  readonly filterMaxWork: number;
  readonly tellJourneys: (question: Question, limit: number) => Promise<ToldJourneys>;
}

/** Declares an operation and gives it back unchanged, typed. One that reaches an agent names it in its path. */
export function defineOperation<Input extends z.ZodObject, Output extends z.ZodType>(
  operation: Operation<Input, Output, ApiWorld>,
): Operation<Input, Output, ApiWorld> {
  const names: Reach = routeOf(operation).inPath.includes('agentUid') ? 'agent' : operation.reach;
  if (names !== operation.reach) throw new TypeError('an operation on an agent reaches that agent alone');
  return operation;
}
