import type { Fact, RawFact } from './checker/contract.ts';

/** A small seeded generator: equal seeds give equal loads. */
export function createRandom(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x9e3779b9) >>> 0;
    const mixed = Math.imul(state ^ (state >>> 13), 0x297a2d39) >>> 0;
    return ((mixed ^ (mixed >>> 16)) >>> 0) % below;
  };
}

interface Comment {
  readonly id: number;
  readonly text: string;
  readonly updatedAt: number;
}

const epoch = Date.parse('2031-02-28T06:00:00Z');
const words = ['bug in the third line', 'looks fine', 'a question', 'works for me', 'another bug report'];

/** A raw fact and the key that it is published under. */
export interface LoadRecord {
  readonly key: string;
  readonly fact: RawFact;
}

/** What a load is made from. */
export interface LoadOptions {
  readonly mark: string;
  readonly connectionId: string;
  readonly channels: number;
  readonly seed: number;
}

/** A load of so many facts, all at once. */
export function githubLoad({ facts, ...options }: LoadOptions & { readonly facts: number }): readonly LoadRecord[] {
  const all = githubFacts({ ...options, remembered: facts });
  return Array.from({ length: facts }, () => all.next().value);
}

/**
 * Comments on issues as GitHub tells them: written, edited (also late, with an older time), deleted, written again after
 * that, told twice under one event id and under two, and now and then an event that concerns nobody. Without end; what is
 * told twice under one id is one of the `remembered` last ones.
 */
export function* githubFacts(options: LoadOptions & { readonly remembered: number }): Generator<LoadRecord, never> {
  const { mark, connectionId, channels, remembered } = options;
  const random = createRandom(options.seed);
  const recent: LoadRecord[] = [];
  let made = 0;
  const shown = Array.from({ length: channels }, (): Comment[] => []);
  const gone = Array.from({ length: channels }, (): Comment[] => []);

  const told = (issue: number, action: string, comment: Comment): LoadRecord => {
    const user = { id: 1 + (comment.id % 5), login: `user-${comment.id % 5}`, type: 'User' };
    const body = {
      action,
      repository: { full_name: `e2e/${mark}`, private: false },
      sender: user,
      issue: { number: issue + 1, title: `Issue ${issue + 1}`, state: 'open' },
      comment: {
        id: comment.id,
        user,
        body: comment.text,
        updated_at: new Date(comment.updatedAt).toISOString(),
        html_url: `https://github.com/e2e/${mark}/issues/${issue + 1}#issuecomment-${comment.id}`,
      },
    };
    const signalChannelId = `github:e2e/${mark}#${issue + 1}`;
    const fact = {
      // Some publishers give their facts no id: the place in the log is it then.
      ...(random(10) > 0 && { id: `${mark}-raw-${made}` }),
      provider: 'github',
      connectionId,
      kind: 'direct',
      eventId: `${mark}-event-${made}`,
      event: 'issue_comment',
      signalChannelId,
      receivedAt: epoch + made,
      body: JSON.stringify(body),
      bodyEncoding: 'utf-8',
    };
    return { key: signalChannelId, fact };
  };
  const some = <T>(list: readonly T[]): T | undefined => list[random(list.length || 1)];
  const text = (): string => `${some(words)} ${random(1_000_000)}`;

  const next = (): LoadRecord => {
    const issue = random(channels);
    const [here, removed] = [shown[issue] ?? [], gone[issue] ?? []];
    const [known, last, kind] = [some(here), recent.at(-1 - random(recent.length || 1)), random(100)];
    if (kind < 8 && last !== undefined) {
      return { key: last.key, fact: { ...last.fact, ...(last.fact.id && { id: `${mark}-raw-${made}` }) } };
    }
    if (kind < 20 && known !== undefined) {
      const late = random(5) === 0 ? -90_000 : 60_000;
      const edited = { id: known.id, text: text(), updatedAt: known.updatedAt + late };
      if (late > 0) here[here.indexOf(known)] = edited;
      return told(issue, 'edited', edited);
    }
    if (kind < 24 && known !== undefined) return told(issue, 'created', known);
    if (kind < 30 && known !== undefined) {
      here.splice(here.indexOf(known), 1);
      removed.push(known);
      return told(issue, 'deleted', known);
    }
    if (kind < 33 && removed.length > 0) {
      return told(issue, 'created', some(removed) ?? { id: 0, text: '', updatedAt: epoch });
    }
    if (kind < 35 && known !== undefined) return told(issue, 'pinned', known);
    const comment = { id: 1_000 + made, text: text(), updatedAt: epoch + made * 1_000 };
    here.push(comment);
    return told(issue, 'created', comment);
  };

  for (;;) {
    const record = next();
    recent.push(record);
    if (recent.length > remembered) recent.shift();
    made++;
    yield record;
  }
}

interface CommentBody {
  readonly action: string;
  readonly issue: { readonly number: number; readonly title: string };
  readonly repository: { readonly full_name: string };
  readonly comment: { readonly id: number; readonly body: string; readonly updated_at: string };
}

/** What such a body tells, read once more by hand. */
export function tellsOfComment(raw: RawFact): Readonly<Partial<Fact>> | string {
  // Bodies are those of `githubLoad`.
  const { action, issue, repository, comment } = JSON.parse(raw.body) as CommentBody;
  if (!['created', 'edited', 'deleted'].includes(action)) return `issue_comment.${action}`;
  const about = {
    providerEventId: raw.eventId ?? '',
    signalChannelId: `github:${repository.full_name}#${issue.number}`,
    sourceEntryId: `issue_comment:${comment.id}`,
  };
  if (action === 'deleted') return { type: 'entry_lifecycle', ...about };
  return {
    type: 'entry_received',
    ...about,
    text: comment.body,
    providerTime: Date.parse(comment.updated_at),
    actorEventType: `github.issue_comment.${action}`,
    ...(action === 'edited' && { edited: true }),
  };
}
