import type { Binding } from '../../../schemas/binding.ts';
import type { Connection } from '../../../schemas/connection.ts';
import type { ConnectionState } from '../../../schemas/connection-state.ts';
import type { BusInspection } from '../../../shared/runtime/bus.ts';
import type { StoreInspection } from '../../../shared/runtime/store.ts';
import type { KeyRing } from '../../../shared/sealing.ts';
import type { Answer } from './answer.ts';
import type { TableReading } from './check-configuration.ts';
import type { NeedReading } from './check-needed.ts';
import type { LetterReading } from './check-now.ts';
import type { GroupReading } from './check-stages.ts';
import type { SchemaState, TopicDeployment } from './check-topics.ts';

/** All that was read of an installation. What could not be asked for, since something before it was away, is undefined. */
export interface Installation {
  readonly now: number;
  readonly node: string;
  readonly deployment: TopicDeployment & { readonly secretKeys?: KeyRing | undefined };
  readonly bus: Answer<BusInspection>;
  readonly store: Answer<StoreInspection & { readonly aheadMs: number }>;
  readonly schemas: Answer<readonly SchemaState[]>;
  readonly connections: Answer<TableReading<Connection>> | undefined;
  readonly states: Answer<TableReading<ConnectionState>> | undefined;
  readonly bindings: Answer<TableReading<Binding>> | undefined;
  readonly groups: Answer<readonly GroupReading[]> | undefined;
  readonly needs: Answer<readonly NeedReading[]> | undefined;
  /** Topics that hold records of a time that has not come here. */
  readonly future: Answer<readonly string[]> | undefined;
  readonly letters: Answer<{ readonly letters: readonly LetterReading[]; readonly more: boolean }> | undefined;
}
