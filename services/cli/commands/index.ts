import type { Chapter } from '../command.ts';
import { bindings } from './bindings.ts';
import { connections } from './connections.ts';
import { demo } from './demo.ts';
import { dev } from './dev.ts';
import { dlq } from './dlq.ts';
import { doctor } from './doctor.ts';
import { migrate } from './migrate.ts';
import { rebuild } from './rebuild.ts';
import { replay } from './replay.ts';
import { run } from './run.ts';
import { tokens } from './tokens.ts';
import { topics } from './topics.ts';
import { up } from './up.ts';
import { why } from './why.ts';

/** Every command, in the order in which a person needs them. */
export const chapters: readonly Chapter[] = [
  { title: 'Start', entries: [demo, up, dev, migrate, run] },
  { title: 'Say who is woken by what', entries: [connections, bindings, tokens] },
  { title: 'See what happened', entries: [why, doctor, dlq, topics] },
  { title: 'Decide again', entries: [replay, rebuild] },
];
