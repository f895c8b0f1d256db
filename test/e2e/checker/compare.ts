import { isDeepStrictEqual } from 'node:util';
import { canonical } from './canonical.ts';
import type { Expected } from './contract.ts';
import { type LogRecord, originOf, placeOf } from './log.ts';
import type { Row } from './rows.ts';

/** Counts repeats; each must be what it repeats, in the same place of the topic. */
export function repeatsOf(records: readonly LogRecord[], problems: string[]): number {
  const firsts = new Map<string, LogRecord>();
  let repeats = 0;
  for (const record of records) {
    const origin = originOf(record);
    if (origin === undefined) {
      problems.push(`${placeOf(record)} says not where it comes from`);
      continue;
    }
    const first = firsts.get(origin);
    if (first === undefined) {
      firsts.set(origin, record);
      continue;
    }
    repeats++;
    const same = first.partition === record.partition && first.key === record.key;
    if (!same || !isDeepStrictEqual(first.value, record.value)) {
      problems.push(`${placeOf(record)} repeats ${placeOf(first)} and differs from it`);
    }
  }
  return repeats;
}

/** A record's origin without the effect's name, except where that name is a binding. */
export function sourceOf(from: string | undefined, topic?: string): string {
  const [, source = '', effect = ''] = /^([^/]+\/\d+\/\d+)\/(.*)$/s.exec(from ?? '') ?? [];
  return topic === 'accepted-facts' ? `${source}/${effect}` : source;
}

/** A record as it is compared: where it comes from, and what it says. */
interface Item {
  readonly source: string;
  readonly value: unknown;
}

/** Compares lane by lane: what came from one partition to one key of one topic, in order. */
export function compareRecords(expected: readonly Expected[], actual: readonly LogRecord[], problems: string[]): void {
  const spell = createSpelling(problems);
  const lanes = new Map<string, { readonly want: Item[]; readonly have: Item[] }>();
  const laneOf = (topic: string, key: string, source: string) => {
    const name = `${source.split('/', 2).join('/')} to ${topic} ${key}`;
    const lane = lanes.get(name) ?? { want: [], have: [] };
    lanes.set(name, lane);
    return lane;
  };
  for (const { topic, key, source, value } of expected) laneOf(topic, key, source).want.push({ source, value });
  for (const { topic, key, from, value } of actual) {
    const source = sourceOf(from, topic);
    laneOf(topic, key, source).have.push({ source, value });
  }
  for (const [name, { want, have }] of lanes) {
    for (let index = 0; index < Math.max(want.length, have.length); index++) {
      const [wanted, found] = [want[index], have[index]];
      const isSame = wanted?.source === found?.source;
      const value = isSame && hasDigests(name) ? spell(found?.value, wanted?.value) : found?.value;
      if (isSame && isDeepStrictEqual(value, wanted?.value)) continue;
      const text = (item: Item | undefined) =>
        item === undefined ? 'nothing' : `${item.source} ${canonical(item.value)}`;
      problems.push(`${name}, number ${index}: ${text(found && { ...found, value })}, the refold says ${text(wanted)}`);
      break;
    }
  }
}

/** Compares rows with what they should be, digests by what they are made from. */
export function compareRows(
  wanted: ReadonlyMap<string, Row>,
  found: ReadonlyMap<string, Row>,
  problems: string[],
): void {
  const spell = createSpelling(problems);
  for (const name of new Set([...wanted.keys(), ...found.keys()])) {
    const want = wanted.get(name);
    const have = hasDigests(name) ? spell(found.get(name), want) : found.get(name);
    if (isDeepStrictEqual(have, want)) continue;
    problems.push(`row ${name}: ${canonical(have)}, the refold says ${canonical(want)}`);
  }
}

/** Whether what lies there holds digests, which are compared by what they are made from. */
const hasDigests = (name: string): boolean => / to actor-events |\/(?:entries|handled-revisions):/.test(name);

/**
 * Puts the text that a digest is made from in the digest's place. How digests are made is the product's own affair: here
 * equal texts must have equal digests, and other texts others.
 */
function createSpelling(problems: string[]): (have: unknown, want: unknown) => unknown {
  const [texts, digests] = [new Map<string, string>(), new Map<string, string>()];
  const spelled = (digest: string, text: string): string => {
    const known = [texts.get(digest) ?? text, digests.get(text) ?? digest];
    if (known[0] !== text || known[1] !== digest)
      problems.push(`digest ${digest} stands for two texts, or beside another`);
    texts.set(digest, text);
    digests.set(text, digest);
    return text;
  };
  const spell = (have: unknown, want: unknown): unknown => {
    if (typeof have !== 'object' || have === null) return have;
    if (Array.isArray(have))
      return have.map((each, index) => spell(each, Array.isArray(want) ? want[index] : undefined));
    const wanted: Readonly<Record<string, unknown>> = { ...(typeof want === 'object' ? want : undefined) };
    return Object.fromEntries(
      Object.entries(have).map(([name, member]) => {
        const text = wanted[name];
        const isDigest = name === 'documentId' || name === 'contentHash';
        if (isDigest && typeof member === 'string' && typeof text === 'string') return [name, spelled(member, text)];
        return [name, spell(member, text)];
      }),
    );
  };
  return spell;
}
