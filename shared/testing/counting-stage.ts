import { z } from 'zod';
import { defineProjection, defineTopic } from '../../schemas/define.ts';
import { defineConfig } from '../config.ts';
import {
  type CallAnswer,
  call,
  cancel,
  defineStage,
  emit,
  later,
  outcome,
  put,
  reject,
  remove,
} from '../stage/index.ts';

/** What the counting stage reads: each member asks for one of the things that a stage can do. */
export const Ask = z.discriminatedUnion('type', [
  z.object({ type: z.literal('count'), key: z.string(), emit: z.int().nonnegative() }),
  z.object({ type: z.literal('forget'), key: z.string() }),
  z.object({ type: z.literal('remind'), key: z.string(), inMs: z.int() }),
  z.object({ type: z.literal('reminded'), key: z.string() }),
  z.object({ type: z.literal('calm'), key: z.string() }),
  z.object({ type: z.literal('call'), key: z.string() }),
  z.object({ type: z.literal('answered'), key: z.string(), status: z.int() }),
  z.object({ type: z.literal('throw'), key: z.string() }),
  z.object({ type: z.literal('reject'), key: z.string(), part: z.string().optional() }),
  z.object({ type: z.literal('bloat'), key: z.string(), bytes: z.int() }),
  z.object({ type: z.literal('trespass'), key: z.string(), owner: z.string() }),
  z.object({ type: z.literal('finish'), key: z.string() }),
]);
export type Ask = z.infer<typeof Ask>;

/** The input of the counting stage. */
export const asks = defineTopic<Ask>({
  name: 'asks',
  summary: 'What a test asks of a stage.',
  value: Ask,
  key: (ask) => ask.key,
  keep: { days: 1 },
  about: (ask) => ({ sourceEntryId: ask.key }),
  example: { type: 'count', key: 'a', emit: 0 },
});

/** The count of a key when it was counted. */
export const Counted = z.object({ key: z.string(), count: z.int(), padding: z.string().optional() });
export type Counted = z.infer<typeof Counted>;

/** The output of the counting stage. */
export const counted = defineTopic<Counted>({
  name: 'counted',
  summary: 'What a test counted.',
  value: Counted,
  key: ({ key }) => key,
  keep: { days: 1 },
  example: { key: 'a', count: 1 },
});

/** What the counting stage keeps of a key. */
export const counts = defineProjection({
  name: 'counts',
  stage: 'counting',
  summary: 'Counts by key.',
  value: z.object({ count: z.int() }),
  place: ({ key, owner }: { readonly key: string; readonly owner?: string }) => ({ key, owner: owner ?? key }),
});

const hourMs = 3_600_000;

/** A stage that uses every effect there is, for tests of what runs stages. */
export const counting = defineStage({
  name: 'counting',
  summary: 'Counts what it is asked.',
  input: asks,
  outputs: [counted],
  config: defineConfig('COUNTING', {}),
  reads: (ask) => ({ own: counts.at({ key: ask.key }) }),

  decide({ own }, { value: ask, at }) {
    const count = (own?.count ?? 0) + 1;
    const place = counts.at({ key: ask.key });
    switch (ask.type) {
      case 'count':
        return [
          put(place, { count }),
          ...Array.from({ length: ask.emit }, () => emit(counted, { key: ask.key, count })),
        ];
      case 'forget':
        return [remove(place)];
      case 'remind':
        return [later(`reminder:${ask.key}`, at + ask.inMs, { type: 'reminded', key: ask.key })];
      case 'reminded':
        return [put(place, { count }, at + hourMs), emit(counted, { key: ask.key, count }, 'reminded')];
      case 'calm':
        return [cancel(`reminder:${ask.key}`)];
      case 'call':
        return [
          put(place, { count }),
          call({ method: 'GET', url: `http://provider.example/${ask.key}`, headers: {}, timeoutMs: 1_000 }, (answer) =>
            answered(ask.key, answer),
          ),
        ];
      case 'answered':
        return [emit(counted, { key: ask.key, count: ask.status })];
      case 'throw':
        throw new TypeError('as asked');
      case 'reject':
        return [
          put(place, { count }),
          reject('payload-invalid', { asked: true }, ask.part === undefined ? {} : { part: ask.part }),
        ];
      case 'bloat':
        return [put(place, { count }), emit(counted, { key: ask.key, count, padding: 'x'.repeat(ask.bytes) })];
      case 'trespass':
        return [put(counts.at({ key: ask.key, owner: ask.owner }), { count })];
      case 'finish':
        return [outcome('recorded', { reason: 'as asked' })];
    }
  },
});

const answered = (key: string, answer: CallAnswer): Ask => ({ type: 'answered', key, status: answer.status ?? 0 });
