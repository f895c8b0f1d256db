import type { Topic } from '../../../schemas/define.ts';
import type { AnyProvider } from '../../../shared/provider.ts';
import { refusedRequests } from '../../../shared/runtime/protocol-versions.ts';
import { type Answer, unanswered } from './answer.ts';
import { type Check, type CheckGroup, type Status, well, worstOf } from './check.ts';
import { checkBindings, checkConnections, checkKeys } from './check-configuration.ts';
import { checkNeeded } from './check-needed.ts';
import { checkClocks, checkDeadLetters } from './check-now.ts';
import { checkStage } from './check-stages.ts';
import { checkEviction, checkMemory, checkPersistence } from './check-store.ts';
import { checkReplicas, checkSchemas, checkTopicSettings, checkTopics } from './check-topics.ts';
import { checkKafka, checkNode, checkRedis } from './check-versions.ts';
import type { Installation } from './installation.ts';

/** What is known of the product itself. */
export interface Product {
  readonly topics: readonly Topic[];
  readonly providers: ReadonlyMap<string, AnyProvider>;
}

/** What a doctor says: the gravest of its checks, and all of them. */
export interface Diagnosis {
  readonly result: Status;
  readonly groups: readonly CheckGroup[];
}

/** Judges what was read. Pure: the same reading gives the same diagnosis. */
export function diagnose(installation: Installation, { topics, providers }: Product): Diagnosis {
  const { deployment, bus, store, schemas, connections, states, bindings, groups, needs, future, letters } =
    installation;
  const keys = deployment.secretKeys;
  const found = states?.type === 'answered' ? states.value : { rows: [], problems: [] };
  const stored = connections?.type === 'answered' ? connections.value.rows : undefined;

  const all: readonly CheckGroup[] = [
    {
      title: 'Versions',
      checks: [
        checkNode(installation.node),
        ...checksOf('kafka', bus, (value) => [checkKafka(value)]),
        ...checksOf('redis', store, (value) => [checkRedis(value)]),
        ...checksOf('registry', schemas, () => [well('registry', 'answers')]),
      ],
    },
    {
      title: 'Log',
      checks: [
        ...ifAnswered(bus, (value) => {
          // Brokers that take too little were asked for nothing more.
          if (refusedRequests(value.requests).length > 0) return [];
          return [
            checkTopics(topics, deployment, value),
            // Of topics that are all missing there is nothing more to say.
            ...(value.topics.size === 0
              ? []
              : [checkTopicSettings(topics, deployment, value), checkReplicas(deployment, value)]),
          ];
        }),
        ...ifAnswered(schemas, (value) => [checkSchemas(value)]),
      ],
    },
    {
      title: 'Store',
      checks: ifAnswered(store, (value) => [checkEviction(value), checkPersistence(value), checkMemory(value)]),
    },
    {
      title: 'Configuration',
      checks: [
        checkKeys(keys),
        ...checksOf('connections', connections, (value) => [
          checkConnections(value, { providers, keys, states: found }),
        ]),
        ...checksOf('connection states', states, () => []),
        ...(stored === undefined ? [] : checksOf('bindings', bindings, (value) => [checkBindings(value, stored)])),
      ],
    },
    {
      title: 'Stages',
      checks: [
        ...checksOf('groups', groups, (value) => value.map(checkStage)),
        ...checksOf('needed records', needs, (value) => [checkNeeded(value, installation.now)]),
      ],
    },
    {
      title: 'Now',
      checks: [
        ...(store.type === 'answered'
          ? checksOf('clocks', future, (value) => [checkClocks({ storeAheadMs: store.value.aheadMs, future: value })])
          : []),
        ...checksOf('dead letters', letters, (value) => [checkDeadLetters(value)]),
      ],
    },
  ];
  const told = all.filter(({ checks }) => checks.length > 0);
  return { result: worstOf(told.flatMap(({ checks }) => checks.map(({ status }) => status))), groups: told };
}

/** The checks of what was answered; one that failed where it was not; none where it was not asked for. */
function checksOf<T>(
  name: string,
  answer: Answer<T> | undefined,
  judge: (value: T) => readonly Check[],
): readonly Check[] {
  if (answer?.type === 'failed') return [unanswered(name, answer.error)];
  return ifAnswered(answer, judge);
}

const ifAnswered = <T>(answer: Answer<T> | undefined, judge: (value: T) => readonly Check[]): readonly Check[] =>
  answer?.type === 'answered' ? judge(answer.value) : [];
