import { availableParallelism } from 'node:os';
import { z } from 'zod';
import { readConfig } from '../../../shared/config.ts';
import { abandonRebuild, type RebuildStep, type Rebuilt, rebuildStage } from '../../../shared/runtime/rebuild.ts';
import { config as runtimeConfig } from '../../../shared/runtime/runtime-settings.ts';
import { defineCommand } from '../command.ts';
import { progressText } from '../rebuild/progress.ts';
import { stageNamed, stageNames } from '../rebuild/stages.ts';
import { surroundingsOf } from '../rebuild/surroundings.ts';
import { threadsOf } from '../rebuild/threads.ts';
import { parseSpan } from '../time.ts';

type Value =
  | ({ readonly type: 'rebuilt' } & Rebuilt)
  | { readonly type: 'abandoned'; readonly stage: string; readonly partitions: number; readonly removed: number };

export const rebuild = defineCommand({
  name: 'rebuild',
  summary: 'Fold the input of a stage anew beside its live state, and put the result in use.',
  details:
    'For a projection that is wrong or lost: the stage goes on meanwhile, nothing is sent and nothing is called, and who ' +
    'reads the projection sees no gap. Folds from the first record that is kept, with the code and the settings of this ' +
    'process, which should be those of the stage. May be killed at any time: started again, it goes on where it stood.',
  examples: ['signalbox rebuild mirror-projector', 'signalbox rebuild mirror-projector --abandon'],
  options: z.strictObject({
    stage: z.enum(stageNames).describe('The stage.'),
    abandon: z.boolean().default(false).describe('Remove a half-built state, and what else of the stage nobody uses.'),
    parallel: z.coerce.number().int().min(1).max(64).default(4).describe('Partitions folded at once.'),
    threads: z.coerce
      .number()
      .int()
      .min(1)
      .max(64)
      .optional()
      .describe('Threads that share them, of which each can fill a core. Default: one for each core.'),
    grace: z
      .string()
      .default('10s')
      .refine((text) => parseSpan(text) !== undefined, { error: 'must be like 90s, 15m, 2h or 1d' })
      .meta({
        description: 'How long the state before stays for whoever reads Redis without asking signalbox.',
        placeholder: 'span',
      }),
  }),
  positional: ['stage'],

  async run({ stage: name, abandon, parallel, threads: wanted, grace }, context): Promise<Value> {
    const stage = stageNamed(name);
    const { clock, terminal } = context;
    if (abandon) {
      const [bus, store] = await Promise.all([context.bus(), context.store()]);
      const [runtime] = readConfig([runtimeConfig] as const, context.environment());
      const { abandoned, removed } = await abandonRebuild({ stage, bus, store, clock, runtime });
      return { type: 'abandoned', stage: name, partitions: abandoned, removed };
    }
    const began = clock.now();
    const onStep = (step: RebuildStep): void => {
      switch (step.type) {
        case 'began':
          terminal.note(`Folding ${stage.input.name} anew, as generation ${step.generation} of ${name}.`);
          break;
        case 'resumed':
          terminal.note(`Going on with generation ${step.generation} of ${name}.`);
          break;
        case 'folding':
          terminal.progress(progressText(step, clock.now() - began));
          break;
        case 'switched':
          terminal.note(`Generation ${step.generation} is in use.`);
          break;
        case 'removing':
          terminal.progress('Waiting for readers, then removing what was before …');
          break;
      }
    };
    const most = Math.min(wanted ?? availableParallelism(), parallel);
    const threads = threadsOf(name, { threads: most, each: Math.floor(parallel / most) }, context);
    try {
      const rebuilt = await rebuildStage({
        ...(await surroundingsOf(stage, context)),
        ...{ parallel, threads, onStep },
        graceMs: parseSpan(grace) ?? 0,
      });
      return { type: 'rebuilt', ...rebuilt };
    } finally {
      await threads?.close();
    }
  },

  show(value, { style }) {
    if (value.type === 'abandoned') {
      const what = value.partitions === 0 ? 'Nothing was being rebuilt' : `Abandoned in ${value.partitions} partitions`;
      return `${what}; ${value.removed} keys removed.`;
    }
    const { stage, generation, records, foldMs, shortened, removed } = value;
    const rate = Math.round((records * 1_000) / Math.max(1, foldMs));
    const lines = [
      style.green(`${stage} is rebuilt, as generation ${generation}.`),
      `${records} records in ${(foldMs / 1_000).toFixed(1)} s (${rate}/s); ${removed} keys of former generations removed.`,
    ];
    if (shortened.length === 0) return lines.join('\n');
    const lost = `The first records of partitions ${shortened.join(', ')} have left the topic: what came of them alone is gone.`;
    return [...lines, style.yellow(lost)].join('\n');
  },
});
