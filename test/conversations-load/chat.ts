import { createRandom } from '../e2e/load.ts';

/** A fact of a chat as a provider's module would make it, and the key that it is published under. */
export interface ChatRecord {
  readonly key: string;
  readonly fact: ChatFact;
}

/** The members of normalized facts that this load uses, as `schemas/json` has them. */
export interface ChatFact {
  readonly type: 'entry_received' | 'entry_lifecycle' | 'reaction' | 'action';
  readonly sourceEventId: string;
  readonly signalChannelId: string;
  readonly channel: { readonly kind: 'im_dm' | 'im_group' };
  readonly sourceEntryId: string;
  readonly providerThreadId?: string;
  readonly replyToSourceEntryId?: string;
  readonly text?: string;
  readonly author?: { readonly id: string; readonly kind: string; readonly agentUid?: string };
  readonly mentions?: readonly { readonly kind: string; readonly id?: string; readonly agentUid?: string }[];
  readonly attachments?: readonly { readonly providerFileId: string }[];
  readonly commandPrefixes?: readonly string[];
  readonly sentAt?: number;
  readonly providerTime?: number;
  readonly edited?: boolean;
  readonly mirrorOnly?: boolean;
  readonly [other: string]: unknown;
}

/** What a chat is made from: so many channels, and so many people and groups that are in the middle of something. */
export interface ChatOptions {
  readonly mark: string;
  readonly connectionId: string;
  readonly agents: readonly string[];
  readonly channels: number;
  readonly abreast: number;
  /** So many messages of each channel come first, and wake nobody: what had been said before the chats that follow. */
  readonly history: number;
  readonly seed: number;
}

interface Channel {
  readonly id: string;
  readonly kind: 'im_dm' | 'im_group';
  readonly people: readonly string[];
  readonly threads: readonly string[];
  /** The newest messages of people, and of agents. */
  readonly said: ChatFact[];
  readonly answers: ChatFact[];
}

type Message = Partial<ChatFact> & { readonly by: string };

const epoch = Date.parse('2031-02-28T06:00:00Z');
const remembered = 12;
const words = ['the build is red again', 'who has the keys', 'works for me', 'see the third line', 'one more thing'];
const long = 'This is a longer story of what went wrong last night and who was there. '.repeat(45);

/**
 * People who write to each other and to agents, in DMs and groups, in several messages each, which come at any time
 * between those of others: asked, answered, edited, removed, told twice under one event id or under two, out of order,
 * reacted to. Without end; equal seeds give equal chats.
 */
export function* chatFacts(options: ChatOptions): Generator<ChatRecord, never> {
  const { mark, connectionId, agents } = options;
  const random = createRandom(options.seed);
  const oneIn = (times: number): boolean => random(times) === 0;
  const some = <T>(list: readonly T[]): T | undefined => list[random(list.length || 1)];
  let made = 0;

  const channels = Array.from({ length: options.channels }, (_, number): Channel => {
    const kind = number % 5 < 2 ? 'im_dm' : 'im_group';
    const people = Array.from({ length: kind === 'im_dm' ? 1 : 5 }, (_, index) => `person-${number}-${index}`);
    // As long as each other, so that no id is a part of another one.
    const id = `chat:${mark}:${String(number).padStart(6, '0')}`;
    return { id, kind, people, threads: [`${number}-t1`, `${number}-t2`], said: [], answers: [] };
  });

  const about = ({ id, kind }: Channel) => ({
    ...{ connectionId, provider: 'github', signalChannelId: id, receivedAt: epoch + made },
    sourceEventId: `${mark}-event-${made}`,
    providerEventId: `${mark}-event-${made}`,
    channel: { kind, replyMode: 'entry', name: id },
  });
  const written = (channel: Channel, { by, ...message }: Message): ChatFact => {
    made++;
    const agentUid = agents.find((agent) => agent === by);
    return {
      type: 'entry_received',
      ...about(channel),
      sourceEntryId: `entry-${made}`,
      ...{ sentAt: epoch + made, providerTime: epoch + made },
      text: oneIn(100) ? `${long} ${made}` : `${some(words)} ${made}`,
      ...(oneIn(40) && agentUid === undefined && { attachments: [{ providerFileId: `file-${made}` }] }),
      author: agentUid === undefined ? { id: by, kind: 'user' } : { id: by, kind: 'app', agentUid },
      ...message,
    };
  };
  const again = (channel: Channel, fact: ChatFact, changes: Partial<ChatFact> = {}): ChatFact => {
    made++;
    return { ...fact, ...about(channel), ...changes };
  };
  const edited = (channel: Channel, fact: ChatFact): ChatFact => {
    const time = oneIn(5) ? (fact.sentAt ?? epoch) - 1 : epoch + made + 1;
    return again(channel, fact, { text: `${fact.text} (edited ${made})`, providerTime: time, edited: true });
  };
  const removed = (channel: Channel, { sourceEntryId, providerThreadId }: ChatFact): ChatFact => {
    made++;
    // Not every provider names the thread of what it removes.
    const thread = providerThreadId === undefined || oneIn(2) ? {} : { providerThreadId };
    return { type: 'entry_lifecycle', ...about(channel), sourceEntryId, ...thread, lifecycleKind: 'removed' };
  };
  const reacted = (channel: Channel, sourceEntryId: string): ChatFact => {
    made++;
    const reaction = { reactionKey: some(['eyes', 'heart']), actorKey: some(channel.people), action: 'add' };
    return { type: 'reaction', ...about(channel), sourceEntryId, ...reaction, providerTime: epoch + made };
  };
  const pressed = (channel: Channel, { sourceEntryId }: ChatFact): ChatFact => {
    made++;
    return { type: 'action', ...about(channel), sourceEntryId, actionId: 'show-more', action: { page: made } };
  };

  /** Messages one after the other, with what becomes of them while they still wait, or just do not any more. */
  function* run(channel: Channel, messages: readonly ChatFact[]): Generator<ChatFact> {
    const order = [...messages];
    for (const [index, late] of messages.entries()) {
      const next = order[index + 1];
      // Two that were sent in a hurry come the other way round.
      if (next !== undefined && oneIn(30)) order.splice(index, 2, next, order[index] ?? late);
    }
    for (const message of order) {
      yield message;
      channel.said.push(message);
      if (channel.said.length > remembered) channel.said.shift();
      if (oneIn(30)) yield message;
      if (oneIn(60)) yield again(channel, message);
      if (oneIn(25)) yield edited(channel, message);
      if (oneIn(40)) yield removed(channel, message);
      if (oneIn(30)) yield reacted(channel, message.sourceEntryId);
    }
  }

  const place = (channel: Channel) => {
    const thread = oneIn(4) ? some(channel.threads) : undefined;
    return thread === undefined ? {} : { providerThreadId: thread };
  };
  const several = (most: number): readonly number[] => Array.from({ length: random(most + 1) }, (_, index) => index);
  const command = (): string | undefined => (oneIn(25) ? some(['/new', '/stop', '/steer faster']) : undefined);

  /** One message, or several, to the agent of a DM. */
  function* tell(channel: Channel, by: string): Generator<ChatFact> {
    const messages = [0, ...several(5)].map(() => {
      const text = command();
      return written(channel, { by, ...(text !== undefined && { text }) });
    });
    yield* run(channel, messages);
  }

  /** Somebody asks an agent, maybe in several messages of which one names it; others go on between them. */
  function* ask(channel: Channel, by: string): Generator<ChatFact> {
    const [where, agentUid] = [place(channel), some(agents) ?? ''];
    const text = command();
    const mentions = [{ kind: 'bot', agentUid }];
    const prefix = { text: `@${agentUid} ${text}`, commandPrefixes: [`@${agentUid} `] };
    const before = several(2).map(() => written(channel, { by, ...where }));
    const named = written(channel, { by, ...where, mentions, ...(text !== undefined && prefix) });
    const after = several(3).map(() =>
      written(channel, { by: oneIn(8) ? (some(channel.people) ?? by) : by, ...where }),
    );
    yield* run(channel, [...before, named, ...after]);
  }

  /** People talk, and mean each other. */
  function* talk(channel: Channel): Generator<ChatFact> {
    const where = place(channel);
    const messages = [0, ...several(4)].map(() => {
      const [by, other] = [some(channel.people) ?? '', some(channel.people) ?? ''];
      return written(channel, { by, ...where, ...(oneIn(8) && { mentions: [{ kind: 'user', id: other }] }) });
    });
    yield* run(channel, messages);
  }

  /** An agent has said something, and somebody replies to it, or in the thread in which it wrote. */
  function* answer(channel: Channel, by: string): Generator<ChatFact> {
    const where = place(channel);
    const said = written(channel, { by: some(agents) ?? '', ...where, mirrorOnly: true });
    yield said;
    channel.answers.push(said);
    if (channel.answers.length > remembered) channel.answers.shift();
    const target = oneIn(3) ? some(channel.said) : some(channel.answers);
    const reply = target === undefined ? {} : { replyToSourceEntryId: target.sourceEntryId };
    const follow = several(2).map(() => written(channel, { by, ...where, ...reply }));
    yield* run(channel, [written(channel, { by, ...where, ...reply }), ...follow]);
  }

  /** Something happens to what was said before. */
  function* afterwards(channel: Channel): Generator<ChatFact> {
    const one = some(channel.said);
    if (one === undefined) return;
    const [what, unknown] = [random(7), written(channel, { by: some(channel.people) ?? '' })];
    if (what === 0) yield edited(channel, one);
    if (what === 1) yield removed(channel, one);
    if (what === 2) yield one;
    if (what === 3) yield again(channel, one);
    if (what === 4) yield pressed(channel, one);
    if (what === 5) yield reacted(channel, oneIn(4) ? unknown.sourceEntryId : one.sourceEntryId);
    if (what === 6) {
      yield removed(channel, unknown);
      yield unknown;
    }
  }

  const turn = (): Generator<ChatFact> => {
    const channel = some(channels) ?? fail();
    const [by, kind] = [some(channel.people) ?? '', random(100)];
    if (kind < 12) return afterwards(channel);
    if (channel.kind === 'im_dm') return tell(channel, by);
    if (kind < 20) return answer(channel, by);
    return kind < 55 ? ask(channel, by) : talk(channel);
  };
  const turns = Array.from({ length: options.abreast }, turn);

  for (let round = 0; round < options.history; round++) {
    for (const channel of channels) {
      const fact = written(channel, { by: some(channel.people) ?? '', mirrorOnly: true });
      yield { key: fact.signalChannelId, fact };
    }
  }
  for (;;) {
    const index = random(turns.length);
    const next = turns[index]?.next();
    if (next === undefined || next.done === true) turns[index] = turn();
    else yield { key: next.value.signalChannelId, fact: next.value };
  }
}

const fail = (): never => {
  throw new RangeError('a chat without channels');
};
