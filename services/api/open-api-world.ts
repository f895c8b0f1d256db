import { acceptedFacts } from '../../schemas/accepted-fact.ts';
import { type Binding, bindings as bindingTopic } from '../../schemas/binding.ts';
import { type Connection, connections as connectionTopic } from '../../schemas/connection.ts';
import type { ConnectionState } from '../../schemas/connection-state.ts';
import { channels } from '../../schemas/mirror.ts';
import { BusError } from '../../shared/errors.ts';
import { createProjectionReader } from '../../shared/journey/projection-reader.ts';
import { tellJourneys } from '../../shared/journey/tell.ts';
import { openJourneyWorld } from '../../shared/journey/world.ts';
import type { AnyProvider } from '../../shared/provider.ts';
import type { Bus } from '../../shared/runtime/bus.ts';
import type { Clock } from '../../shared/runtime/clock.ts';
import type { Codec } from '../../shared/runtime/codec.ts';
import { faultOf } from '../../shared/runtime/fault.ts';
import type { Log } from '../../shared/runtime/log.ts';
import type { Publisher } from '../../shared/runtime/publisher.ts';
import { recentFacts } from '../../shared/runtime/recent-facts.ts';
import type { Store } from '../../shared/runtime/store.ts';
import { removeRow, writeRow } from '../../shared/runtime/write-row.ts';
import type { KeyRing } from '../../shared/sealing.ts';
import type { AnyStage, Table } from '../../shared/stage/stage.ts';
import { actorEventsOf } from './actor-events.ts';
import { entriesOfChannel } from './channel-entries.ts';
import { listChannels } from './channels.ts';
import type { ApiSettings } from './config.ts';
import { createLane } from './lane.ts';
import type { ApiWorld } from './world.ts';

/** How far back the log is looked through for a fact that nothing was decided about yet. */
const undecidedMs = 15 * 60_000;

/** Makes the world of the operations over the log and the store: everything bounded in number and time. */
export function openApiWorld(options: {
  readonly bus: Bus;
  readonly store: Store;
  readonly codec: Codec;
  readonly publisher: Publisher;
  readonly adapters: ReadonlyMap<string, AnyProvider>;
  readonly bindings: Table<Binding>;
  readonly connections: Table<Connection>;
  readonly states: Table<ConnectionState>;
  readonly keys: KeyRing;
  readonly clock: Clock;
  readonly log: Log;
  readonly settings: ApiSettings;
  readonly filterMaxWork: number;
  readonly pipeline: readonly AnyStage[];
}): ApiWorld {
  const { bus, store, codec, publisher, bindings, connections, clock, log, settings, pipeline } = options;
  const bounds = {
    maxWaiting: settings.maxWaiting,
    timeoutMs: settings.workTimeoutMs,
    clock,
    onLateFailure: (error: unknown) => log.warn(faultOf(error), 'work failed after its answer'),
  };
  const changes = createLane({ atOnce: 1, ...bounds });
  const reads = createLane({ atOnce: settings.readsAtOnce, ...bounds });
  const written = { publisher, clock, showMs: settings.workTimeoutMs };
  const toBindings = { topic: bindingTopic, table: bindings, ...written };
  const toConnections = { topic: connectionTopic, table: connections, ...written };
  const writes = {
    putBinding: (row: Binding) => writeRow(toBindings, row),
    removeBinding: (key: string) => removeRow(toBindings, key),
    putConnection: (row: Connection) => writeRow(toConnections, row),
  };

  const look = settings.lookRecords;

  // The count of partitions is fixed once a topic exists, so it is asked for once.
  let partitions: number | undefined;
  const mirror = async () => {
    partitions ??= (await bus.offsets(acceptedFacts.name))?.length;
    if (partitions === undefined) throw new BusError('topic-missing', { topic: acceptedFacts.name });
    return createProjectionReader({ store, stage: channels.stage, partitions, now: clock.now });
  };

  return {
    adapters: options.adapters,
    bindings,
    connections,
    states: options.states,
    keys: options.keys,
    filterMaxWork: options.filterMaxWork,
    now: clock.now,
    change: (work) => changes.run(() => work(writes)),
    readMirror: (place) => reads.run(async () => (await mirror()).read(place)),
    readChannels: (page) => reads.run(async () => listChannels({ bus, look, mirror: await mirror() }, page)),
    readEntries: (page) => reads.run(async () => entriesOfChannel({ bus, codec, look, mirror: await mirror() }, page)),
    readActorEvents: (page) => reads.run(() => actorEventsOf({ bus, codec, look }, page)),
    recentFacts: (connectionId, last) => reads.run(() => recentFacts({ bus, codec }, { connectionId, last, look })),
    tellJourneys: (question, limit) =>
      reads.run(async () => {
        const journeys = await openJourneyWorld({ bus, store, codec, clock, pipeline, progress: () => undefined });
        return tellJourneys(question, { limit, since: clock.now() - undecidedMs }, journeys);
      }),
  };
}
