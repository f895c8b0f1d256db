import { parentPort, workerData } from 'node:worker_threads';
import { systemClock } from '../../../shared/runtime/clock.ts';
import { silentLog } from '../../../shared/runtime/log.ts';
import { foldInThread } from '../../../shared/runtime/rebuild-threads.ts';
import { openContext } from '../open-context.ts';
import { openRealPorts } from '../ports.ts';
import { plain } from '../style.ts';
import { stageNamed } from './stages.ts';
import { surroundingsOf } from './surroundings.ts';
import type { ThreadOrder } from './threads.ts';

if (parentPort === null) throw new Error('only to be started as a thread');
// Written by the thread that started this one.
const { stage, environment } = workerData as ThreadOrder;

const { context } = openContext({
  given: environment,
  environment: () => environment,
  // The thread that started this one speaks to the person.
  terminal: {
    ...{ style: plain, noteStyle: plain },
    ...{ out: () => undefined, note: () => undefined, progress: () => undefined },
    ...{ confirm: async () => false, readSecret: async () => '' },
  },
  clock: systemClock,
  log: silentLog,
  openPorts: openRealPorts,
  present: () => undefined,
});

await foldInThread(parentPort, () => surroundingsOf(stageNamed(stage), context));
