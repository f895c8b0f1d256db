import { z } from 'zod';
import type { Binding } from '../../../schemas/binding.ts';
import { topics } from '../../../schemas/index.ts';
import { readConfig } from '../../../shared/config.ts';
import { BusError } from '../../../shared/errors.ts';
import { config as runtimeConfig } from '../../../shared/runtime/runtime-settings.ts';
import type { Table } from '../../../shared/stage/stage.ts';
import { defineCommand } from '../command.ts';
import { parseMoment } from '../dead-letters/moment.ts';
import { stageNamed, stageNames, tablesOf } from '../rebuild/stages.ts';
import { replay as decideAndCompare } from '../replay/replay.ts';
import { type ReplayReport, showReplay } from '../replay/show.ts';
import { type Trial, withTrial } from '../replay/trial.ts';
import { parseSpan } from '../time.ts';

const isMoment = (text: string): boolean => parseMoment(text, 0) !== undefined;
const isSpan = (text: string): boolean => parseSpan(text) !== undefined;
const moment = { error: 'must be like 2h, or like 2026-12-01 08:30Z' };
const span = { error: 'must be like 90s, 15m, 2h or 1d' };

const options = z.strictObject({
  stage: z.enum(stageNames).describe('The stage.'),
  from: z.string().refine(isMoment, moment).meta({
    description: 'Since when: so long ago, or an instant in UTC.',
    placeholder: 'time',
  }),
  to: z.string().default('0s').refine(isMoment, moment).meta({ description: 'Until when.', placeholder: 'time' }),
  key: z.string().min(1).optional().describe('Only records of this key: a channel, for one.'),
  binding: z
    .string()
    .regex(/^[^/|]+\/[^/|]+$/, { error: 'must be like agent/name' })
    .optional()
    .meta({
      description: 'A binding to try otherwise than it is saved, as if it were enabled.',
      placeholder: 'agent/name',
    }),
  filter: z.string().trim().min(1).max(4_000).optional().meta({
    description: 'With --binding: the filter to try.',
    placeholder: 'cel',
  }),
  without: z.boolean().default(false).describe('With --binding: try it without a filter.'),
  absent: z.boolean().default(false).describe('With --binding: try as if it were not there.'),
  warmUp: z.string().refine(isSpan, span).optional().meta({
    description: 'Fold only from so long before --from, instead of from the first record that is kept.',
    placeholder: 'span',
  }),
  settle: z.string().default('10m').refine(isSpan, span).meta({
    description: 'How long after its input an output of then may have come.',
    placeholder: 'span',
  }),
  most: z.coerce.number().int().min(1).default(1_000_000).describe('Records of the input to read, at most.'),
  limit: z.coerce.number().int().min(0).max(100_000).default(20).describe('How many differences to list.'),
});

/** What is tried, as the flags say it. Throws `input-invalid`. */
function trialOf({ stage, binding, filter, without, absent }: z.output<typeof options>): Trial | undefined {
  const changes = [filter !== undefined, without, absent].filter(Boolean).length;
  if (binding === undefined && changes === 0) return undefined;
  if (binding === undefined || changes !== 1) {
    throw new BusError('input-invalid', { problem: '--binding goes with one of --filter, --without and --absent' });
  }
  if (stageNamed(stage).tables?.bindings === undefined) {
    throw new BusError('input-invalid', { problem: `${stage} reads no bindings` });
  }
  const [agentUid = '', name = ''] = binding.split('/');
  return { agentUid: agentUid.toLowerCase(), name, change: absent ? 'absent' : { filter } };
}

export const replay = defineCommand({
  name: 'replay',
  summary: 'Decide a stretch of time again with the present code and bindings, and tell what would be otherwise.',
  details:
    'Without any effect: what comes of it stays in this process and is compared with what the log has of then. A stage ' +
    'that keeps rows is folded from the first record that is kept, or from --warm-up before --from; what depends on ' +
    'older records than that may then differ for no other reason. With --binding, a filter can be tried before it is saved.',
  examples: [
    'signalbox replay filter --from 2h',
    `signalbox replay filter --from 1d --binding iris/desk --filter "signal.entry.text.contains('bug')"`,
    "signalbox replay mirror-projector --from '2026-12-01 08:00Z' --to '2026-12-01 09:00Z' --json",
  ],
  options,
  positional: ['stage'],

  async run(given, context): Promise<ReplayReport> {
    const now = context.clock.now();
    const [from, to] = [parseMoment(given.from, now) ?? now, parseMoment(given.to, now) ?? now];
    if (from >= to) throw new BusError('input-invalid', { problem: '--from is not before --to' });
    const trial = trialOf(given);
    const stage = stageNamed(given.stage);
    const [settings, runtime] = readConfig([stage.config, runtimeConfig] as const, context.environment());
    const present = await tablesOf(stage, context);
    // A stage that is tried with a binding has a table of them.
    const bindings = trial && withTrial(present.bindings as Table<Binding>, trial);
    const found = await decideAndCompare({
      ...{ stage, settings, runtime, from, to, key: given.key, most: given.most },
      tables: { ...present, ...(bindings !== undefined && { bindings }) },
      bus: await context.bus(),
      codec: await context.codec(topics),
      clock: context.clock,
      warmUpMs: given.warmUp === undefined ? undefined : parseSpan(given.warmUp),
      settleMs: parseSpan(given.settle) ?? 0,
      progress: context.terminal.progress,
    });
    const differences = found.differences.slice(0, given.limit);
    const omitted = found.differences.length - differences.length;
    return { stage: stage.name, from, to, ...found, differences, omitted };
  },

  show: showReplay,
});
