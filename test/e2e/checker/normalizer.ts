import { sourceOf } from './compare.ts';
import type { Expected, Fact, RawFact } from './contract.ts';
import { type LogRecord, placeOf } from './log.ts';

/** What the body of a raw fact tells: its fact, as far as the test knows it; a text is the reason to ignore it. */
export type Tells = (raw: RawFact) => Readonly<Partial<Fact>> | string;

/** The id of a raw fact: its own, else its place in the log. */
export const rootOf = (raw: LogRecord): string => (raw.value as RawFact).id ?? placeOf(raw);

/** What the normalizer must have made: of what the test does not know, the record's own word is taken. */
export function refoldNormalizer(
  raws: readonly LogRecord[],
  tells: Tells,
  normalized: readonly LogRecord[],
): readonly Expected[] {
  const bySource = new Map(normalized.map((record) => [sourceOf(record.from), record.value as Fact]));
  return raws.map((record): Expected => {
    const raw = record.value as RawFact;
    const rootId = rootOf(record);
    const told = tells(raw);
    const source = placeOf(record);
    if (typeof told === 'string') {
      const about = {
        connectionId: raw.connectionId,
        ...(raw.eventId !== undefined && { providerEventId: raw.eventId }),
        ...(raw.signalChannelId !== undefined && { signalChannelId: raw.signalChannelId }),
      };
      const value = { rootId, stage: 'normalizer', status: 'ignored_unknown_event', reason: told, at: record.at };
      return { topic: 'decisions', key: rootId, source, value: { ...value, from: source, about } };
    }
    const value = {
      ...bySource.get(source),
      ...told,
      connectionId: raw.connectionId,
      sourceEventId: raw.eventId ?? rootId,
      receivedAt: raw.receivedAt,
    };
    return { topic: 'normalized-facts', key: told.signalChannelId ?? '', source, value };
  });
}
