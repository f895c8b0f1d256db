import { createRandom, type LoadOptions, type LoadRecord } from './load.ts';
import { agentsOf, epoch, published, type Said } from './talk-routes.ts';

const people = ['mei', 'jonas', 'ada', 'noor'] as const;
const words = ['is the build red', 'on it', 'who broke line 3', 'lunch', 'see above', '/new', '/shrug'] as const;
const commands = ['/new', '/stop', '/compress the last hour', '/retry', '/steer to the left'] as const;
const longText = 'all that happened since monday, '.repeat(120);

interface Chat {
  readonly id: string;
  readonly kind: 'im_dm' | 'im_group';
  /** As each entry was told last. */
  readonly said: Said[];
  readonly gone: Said[];
}

/** Somebody says something in one place, and goes on before others come. */
interface Turn {
  readonly chat: Chat;
  readonly by: string;
  readonly thread: string | undefined;
  left: number;
}

/** So many facts of conversations, all at once. */
export function talkLoad({ facts, ...options }: LoadOptions & { readonly facts: number }): readonly LoadRecord[] {
  const all = talkFacts(options);
  return Array.from({ length: facts }, () => all.next().value);
}

/**
 * What people write in direct messages and groups: in runs, to the agents and to nobody, with replies, threads, files and
 * long texts, out of order by a little; edited (also late, with an older time), removed, written again after that, told
 * twice under one event id and under two; commands, what has a type of its own, and what an agent wrote itself. Without end.
 */
export function* talkFacts(options: LoadOptions): Generator<LoadRecord, never> {
  const { mark, channels } = options;
  const random = createRandom(options.seed);
  const agents = agentsOf(mark);
  const chats = Array.from({ length: channels }, (_, index): Chat => {
    const kind = index % 4 === 0 ? 'im_dm' : 'im_group';
    return { id: `${mark}:${index}`, kind, said: [], gone: [] };
  });
  let made = 0;
  let last: Said | undefined;
  const some = <T>(list: readonly T[]): T | undefined => list[random(list.length || 1)];
  const newTurn = (): Turn => ({
    // A load has at least one channel.
    chat: chats[random(channels)] as Chat,
    by: some(people) ?? 'mei',
    thread: random(6) === 0 ? `thread-${random(2)}` : undefined,
    left: 1 + random(4),
  });
  let turn = newTurn();

  const about = ({ chat, thread }: Turn) => ({
    sourceEventId: eventId(),
    signalChannelId: chat.id,
    ...(thread !== undefined && { providerThreadId: thread }),
    channel: { kind: chat.kind, replyMode: 'entry', name: chat.id },
  });
  const eventId = () => `${mark}-event-${made}`;

  const written = (by: Turn, more: Partial<Said>): Said => {
    // What was sent first may come second; no two are sent at once.
    const sentAt = epoch + made * 1_000 - random(3) * 1_501;
    const fact: Said = {
      type: 'entry_received',
      ...about(by),
      sourceEntryId: `m${made}`,
      author: { id: by.by, kind: 'user' },
      sentAt,
      providerTime: sentAt,
      text: `${some(words)} ${made}`,
      ...more,
    };
    by.chat.said.push(fact);
    return fact;
  };

  /** To one agent, to all of them, to somebody else, or to nobody. */
  const addressing = (): Partial<Said> => {
    const draw = random(100);
    if (draw < 30) return { mentions: [{ kind: 'bot', agentUid: agents[random(2)] ?? '' }] };
    if (draw < 36) return { explicit: true };
    if (draw < 44) return { mentions: [{ kind: 'user', id: some(people) ?? 'mei' }] };
    return {};
  };

  const say = (): Said => {
    const { chat } = turn;
    const answered = random(10) === 0 ? some(chat.said.slice(-8)) : undefined;
    return written(turn, {
      ...(chat.kind === 'im_group' && addressing()),
      ...(answered !== undefined && { replyToSourceEntryId: answered.sourceEntryId }),
      ...(random(12) === 0 && { attachments: [{ name: 'plan.pdf', providerRef: `file-${made}` }] }),
      ...(random(30) === 0 && { text: `${longText}${made}` }),
    });
  };

  /** Tells of an entry again, under an event of its own. */
  const again = (known: Said, more: Partial<Said> = {}): Said => ({ ...known, sourceEventId: eventId(), ...more });

  const next = (): Said => {
    if (turn.left === 0) turn = newTurn();
    turn.left--;
    const { chat } = turn;
    // One of the newest: most of them still wait.
    const known = chat.said.at(-1 - random(Math.min(5, chat.said.length || 1)));
    const kind = random(100);
    if (kind < 6 && last !== undefined) return last;
    if (kind < 10 && known !== undefined) return again(known);
    if (kind < 18 && known !== undefined) {
      const late = random(5) === 0 ? -90_000 : 60_000;
      const text = `${some(words)} ${made}`;
      const edited = again(known, { text, edited: true, providerTime: (known.providerTime ?? epoch) + late });
      if (late > 0) chat.said[chat.said.indexOf(known)] = edited;
      return edited;
    }
    if (kind < 23 && known !== undefined) {
      chat.said.splice(chat.said.indexOf(known), 1);
      chat.gone.push(known);
      // A removal need not say in which thread it was.
      const where = { ...turn, thread: random(2) === 0 ? known.providerThreadId : undefined };
      return { type: 'entry_lifecycle', lifecycleKind: 'removed', ...about(where), sourceEntryId: known.sourceEntryId };
    }
    if (kind < 25 && chat.gone.length > 0) return again(some(chat.gone.slice(-5)) ?? written(turn, {}));
    if (kind < 27) {
      const agentUid = agents[random(2)] ?? '';
      return written(turn, { author: { id: agentUid, kind: 'app', agentUid }, mirrorOnly: random(2) === 0 });
    }
    if (kind < 29) return written(turn, { actorEventType: 'chat.poll.opened' });
    if (kind < 33) return written(turn, { text: some(commands) ?? '/new', explicit: true });
    return say();
  };

  for (;;) {
    const said = next();
    last = said;
    made++;
    yield published(said, options, random(10) > 0 ? `${mark}-raw-${made}` : undefined);
  }
}
