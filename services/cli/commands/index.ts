import type { Chapter } from '../command.ts';
import { bindings } from './bindings.ts';
import { connections } from './connections.ts';
import { dev } from './dev.ts';
import { migrate } from './migrate.ts';
import { topics } from './topics.ts';
import { why } from './why.ts';

/** Every command, in the order in which a person needs them. */
export const chapters: readonly Chapter[] = [
  { title: 'Start', entries: [dev, migrate] },
  { title: 'Say who is woken by what', entries: [connections, bindings] },
  { title: 'See what happened', entries: [why, topics] },
];
