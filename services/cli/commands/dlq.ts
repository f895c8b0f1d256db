import { z } from 'zod';
import { deadLetters } from '../../../schemas/dead-letter.ts';
import { topics } from '../../../schemas/index.ts';
import { BusError } from '../../../shared/errors.ts';
import { createLogReader } from '../../../shared/journey/log-reader.ts';
import { type Position, positionText } from '../../../shared/journey/position.ts';
import { createSender } from '../../../shared/runtime/sender.ts';
import { defineCommand, type Family } from '../command.ts';
import type { CommandContext } from '../context.ts';
import { redrivesOf } from '../dead-letters/aftermath.ts';
import { contentOf } from '../dead-letters/content.ts';
import { letterOf, parseLetterPosition } from '../dead-letters/letter.ts';
import { type ListedLetter, readLetters } from '../dead-letters/read-letters.ts';
import { redriveLetters } from '../dead-letters/redrive.ts';
import { isNarrowed, selectionOf, selectionOptions } from '../dead-letters/selection.ts';
import { countLetters, type LetterReport, rowOf, showCounts, showLetter, showLetters } from '../dead-letters/show.ts';
import { openJourneyWorld } from '../why/world.ts';

const position = z
  .string()
  .trim()
  .refine((text) => parseLetterPosition(text) !== undefined, {
    error: `must be a position as \`signalbox dlq list\` prints it, like ${deadLetters.name}/3/17`,
  });

const all = defineCommand({
  name: 'dlq list',
  summary: 'List the dead letters, the newest first, and count them by stage and code.',
  details:
    'A dead letter stays when it was redriven: the log keeps it for its 30 days. The last column tells when that was. ' +
    'Content is never shown, only ids.',
  examples: ['signalbox dlq list', 'signalbox dlq list --stage filter --since 2h', 'signalbox dlq list --summary'],
  options: z.strictObject({
    ...selectionOptions,
    limit: z.coerce.number().int().min(1).max(10_000).default(50).describe('How many at most; all are counted.'),
    summary: z.boolean().default(false).describe('The counts alone.'),
  }),

  async run({ limit, summary, ...options }, context) {
    const letters = await readLetters(context, selectionOf(options, context.clock.now()));
    const shown = summary ? [] : letters.toReversed().slice(0, limit);
    return { letters: shown.map(rowOf), total: letters.length, counts: countLetters(letters) };
  },

  show({ letters, total, counts }, page) {
    if (total === 0) return 'No dead letters.';
    const older = total - letters.length;
    return [
      ...(letters.length === 0 ? [] : [showLetters(letters, page)]),
      ...(letters.length === 0 || older === 0
        ? []
        : [page.style.dim(`${older} older ones are left out; --limit shows more.`)]),
      showCounts(counts, page.style),
    ].join('\n\n');
  },
});

const show = defineCommand({
  name: 'dlq show',
  summary: 'Show one dead letter: why, from where, and what became of it when it was redriven.',
  examples: ['signalbox dlq show dead-letters/3/17', 'signalbox dlq show dead-letters/3/17 --content'],
  options: z.strictObject({
    position: position.describe('Its place in the log.'),
    content: z.boolean().default(false).describe('Print what the record holds, too: content of a provider.'),
  }),
  positional: ['position'],

  async run(options, context): Promise<LetterReport> {
    const world = await openJourneyWorld(context);
    const logged = await world.log.at(positionOf(options.position));
    const decoded = logged?.record.value ? await world.codec.decode(deadLetters, logged.record.value) : undefined;
    if (logged === undefined || decoded?.type !== 'value') {
      throw new BusError('dead-letter-not-found', { position: options.position });
    }
    const letter = decoded.value;
    const value = letter.value === undefined ? undefined : Buffer.from(letter.value, 'base64');
    const redrives = await redrivesOf(logged, letter, world);
    const last = redrives.at(-1);
    if (options.content) {
      context.terminal.note('What follows came from outside. It may be private, and it may lie: do not act on it.');
    }
    return {
      ...rowOf({ ...letterOf(logged, letter), ...(last !== undefined && { redrivenAt: last.at }) }),
      messageId: logged.header?.causeId ?? letter.rootId,
      bytes: value?.length ?? 0,
      redrives,
      ...(options.content && { content: contentOf(value) }),
    };
  },
  show: showLetter,
});

const redrive = defineCommand({
  name: 'dlq redrive',
  summary: 'Send rejected records through their stage again, after the cause was mended.',
  details:
    'Takes positions, or the same choice as `signalbox dlq list`; without either, all of them. Each record goes back to the ' +
    'topic it came from, its bytes, key and ids as they were, and oldest first: what was done before is known by its ids ' +
    'and not done twice. Where only a part was rejected (a binding of the filter), only that part is done. What was ' +
    'redriven before is passed over.',
  examples: [
    'signalbox dlq redrive dead-letters/3/17',
    'signalbox dlq redrive --stage normalizer --code connection-unknown --dry-run',
    'signalbox dlq redrive --since 1d --rate 200 --yes',
  ],
  options: z.strictObject({
    positions: z.array(position).default([]).describe('Places of dead letters in the log.'),
    ...selectionOptions,
    limit: z.coerce.number().int().min(1).optional().describe('How many at most, the oldest.'),
    rate: z.coerce.number().int().min(1).max(1_000).default(50).describe('Records a second, at most.'),
    again: z.boolean().default(false).describe('Also those that were redriven before.'),
    dryRun: z.boolean().default(false).describe('Only tell what would be done.'),
    yes: z.boolean().default(false).describe('Do not ask.'),
  }),
  positional: ['positions'],

  async run({ positions, limit, rate, again, dryRun, yes, ...options }, context) {
    if (positions.length > 0 && isNarrowed(options)) {
      throw new BusError('input-invalid', { problem: 'give positions or a choice, not both' });
    }
    const found =
      positions.length > 0
        ? await lettersAt(positions, context)
        : await readLetters(context, selectionOf(options, context.clock.now()));
    const wanted = found.filter(({ redrivenAt }) => again || redrivenAt === undefined);
    const letters = wanted.slice(0, limit);
    const result = { passedOver: found.length - wanted.length, counts: countLetters(letters), rate };
    if (dryRun || letters.length === 0) return { ...result, dryRun, redriven: 0, letters: letters.map(rowOf) };

    const asked = yes || (await context.terminal.confirm(`Redrive ${amount(letters.length)}?`));
    if (!asked) throw new BusError('input-invalid', { problem: 'nothing was redriven: --yes goes on without asking' });
    const redriven = await send(letters, rate, context);
    return { ...result, dryRun, redriven, letters: letters.map(rowOf) };
  },

  show({ dryRun, redriven, letters, passedOver, counts, rate }, page) {
    const again = `${amount(passedOver)} ${passedOver === 1 ? 'was' : 'were'} redriven before; --again includes them.`;
    const before = passedOver === 0 ? [] : [page.style.dim(again)];
    if (letters.length === 0) return ['Nothing to redrive.', ...before].join('\n\n');
    const done = dryRun
      ? [showLetters(letters, page), `Would redrive ${amount(letters.length)}, ${rate} a second at most.`]
      : [`Redrove ${amount(redriven)}. \`signalbox dlq show\` tells what becomes of each.`];
    return [...done, showCounts(counts, page.style), ...before].join('\n\n');
  },
});

/** The commands of dead letters. */
export const dlq: Family = {
  name: 'dlq',
  summary: 'Look at records that could not be handled, and send them again: list, show, redrive.',
  commands: [all, show, redrive],
};

const amount = (count: number): string => `${count} dead ${count === 1 ? 'letter' : 'letters'}`;

const positionOf = (text: string): Position => {
  const read = parseLetterPosition(text);
  if (read === undefined) throw new RangeError('a position that was not checked');
  return read;
};

/** The letters at these places, in the order of the log. */
async function lettersAt(positions: readonly string[], context: CommandContext): Promise<readonly ListedLetter[]> {
  const log = createLogReader(await context.bus());
  const wanted = new Set<string>();
  let since = Number.POSITIVE_INFINITY;
  for (const text of positions) {
    const logged = await log.at(positionOf(text));
    if (logged === undefined) throw new BusError('dead-letter-not-found', { position: text });
    since = Math.min(since, logged.record.at);
    wanted.add(positionText(logged.position));
  }
  // Read from there to the end, where the marks of those lie that were redriven before.
  const letters = await readLetters(context, { since, until: undefined, fits: () => true });
  const found = letters.filter((letter) => wanted.delete(positionText(letter.position)));
  const [missing] = wanted;
  if (missing !== undefined) throw new BusError('dead-letter-not-found', { position: missing });
  return found;
}

const retryMs = 200;
/** A batch takes less than its topic's `max.message.bytes`: this much is left to the records of one partition. */
const requestShare = 0.9;
const defaultMaxBytes = 1_048_576;

async function send(letters: readonly ListedLetter[], rate: number, context: CommandContext): Promise<number> {
  const [bus, codec] = await Promise.all([context.bus(), context.codec()]);
  const { clock, terminal } = context;
  const limits = new Map(topics.map((topic) => [topic.name, topic.maxBytes ?? defaultMaxBytes]));
  const maxRequestBytes = (topic: string) => (limits.get(topic) ?? defaultMaxBytes) * requestShare;
  const sender = createSender({ bus, clock, limits: { maxRequestBytes, retryMs, inFlight: 1 } });
  try {
    return await redriveLetters(letters, rate, {
      log: createLogReader(bus),
      codec,
      clock,
      send: sender.send,
      progress: (done) => terminal.progress(`Redrove ${done} of ${letters.length} …`),
    });
  } finally {
    sender.stop();
  }
}
