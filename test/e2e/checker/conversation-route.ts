import { type Accepted, type ActorEvent, type Decision, type Fact, joined, type RouteOfFact } from './contract.ts';
import { type LogRecord, placeOf } from './log.ts';
import { channelOfAccepted, type Read, sourceOf, type Told } from './told.ts';

/** What the log tells of one route, without repeats. */
interface OnRoute {
  readonly route: RouteOfFact;
  readonly accepted: ReadonlyMap<string, Read<Accepted>>;
  /** The facts that passed, by entry. */
  readonly tellings: ReadonlyMap<string, readonly Read<Fact>[]>;
  readonly events: readonly Read<ActorEvent>[];
  readonly decided: readonly Read<Decision>[];
  readonly wrong: (text: string) => void;
}

/** Checks what became of the facts of conversations on one route. */
export function checkRoute(route: RouteOfFact, told: Told, problems: string[]): void {
  const { agentUid, bindingName } = route;
  const isMine = (of: Readonly<Partial<Record<'agentUid' | 'bindingName', string>>>): boolean =>
    of.agentUid === agentUid && of.bindingName === bindingName;
  const accepted = told.accepted.filter(({ value }) => isMine(value.route));
  const facts = accepted.flatMap(({ record, value }) =>
    value.type === 'fact.accepted' ? [{ record, value: value.fact }] : [],
  );
  const mine: OnRoute = {
    route,
    accepted: new Map(accepted.map((each) => [placeOf(each.record), each])),
    tellings: Map.groupBy(facts, ({ value }) => joined(value.signalChannelId, value.sourceEntryId)),
    events: told.events.filter(({ value }) => isMine(value.data.session)),
    decided: told.decided.filter(({ value }) => value.stage === 'mirror-projector' && isMine(value.about)),
    wrong: (text) => void problems.push(`${joined(agentUid, bindingName)}: ${text}`),
  };
  checkEnds(mine);
  checkOnce(mine);
  checkHandOvers(mine);
  for (const event of mine.events) checkBatch(event, mine);
}

const timesOf = (names: readonly string[]): ReadonlyMap<string, number> =>
  new Map([...Map.groupBy(names, (name) => name)].map(([name, all]) => [name, all.length]));

/** Notices of removals and edits tell of messages that were given before. */
const isNotice = ({ value }: Read<ActorEvent>): boolean => value.type.startsWith('signal.entry.');

const entriesOf = ({ data }: ActorEvent): readonly string[] =>
  (data.inboundBatch?.sourceEntryIds ?? [data.entry?.sourceEntryId ?? '']).map((id) => joined(data.channel.id, id));

/** Each fact has one end. That its message was handed over, later or by the same record, is told beside that. */
function checkEnds({ tellings, decided, wrong }: OnRoute): void {
  const ends = timesOf(decided.flatMap(({ value }) => (value.status === 'handed_over' ? [] : [value.from ?? ''])));
  for (const { record } of [...tellings.values()].flat()) {
    const times = ends.get(placeOf(record)) ?? 0;
    if (times !== 1) wrong(`${placeOf(record)} has ${times} ends`);
  }
}

/** No message, batch or event is told twice, and no message that has to be told is not. */
function checkOnce({ route, tellings, events, wrong }: OnRoute): void {
  const given = timesOf(events.flatMap((event) => (isNotice(event) ? [] : entriesOf(event.value))));
  for (const [entry, times] of given) if (times > 1) wrong(`${entry} is in ${times} events`);
  for (const [id, times] of timesOf(events.map(({ value }) => value.id))) {
    if (times > 1) wrong(`event ${id} was told ${times} times`);
  }
  for (const [id, times] of timesOf(events.flatMap(({ value }) => value.data.inboundBatch?.id ?? []))) {
    if (times > 1) wrong(`batch ${id} became ${times} events`);
  }
  for (const [entry, [first, ...more]] of tellings) {
    if (first === undefined || !mustWake(first.value, route)) continue;
    // Whether a removal came before its batch closed is for the routing table to say.
    if (more.some(({ value }) => value.type === 'entry_lifecycle')) continue;
    if (!given.has(entry)) wrong(`${entry}, told by ${placeOf(first.record)}, is in no event`);
  }
}

/** Whether a message of a person is to end in an event by itself alone, whatever is said around it. */
function mustWake(fact: Fact, route: RouteOfFact): boolean {
  if (fact.type !== 'entry_received' || fact.author?.kind !== 'user' || fact.mirrorOnly === true) return false;
  if (fact.channel.kind === 'im_dm' || fact.explicit === true || fact.actorEventType !== undefined) return true;
  if (route.unaddressedGroupMessagePolicy === 'may_intervene') return true;
  return (fact.mentions ?? []).some(({ kind, agentUid }) => kind === 'bot' && agentUid === route.agentUid);
}

/** Of each message that a batch took into its event it is told once that it was handed over, and of no other. */
function checkHandOvers({ accepted, events, decided, wrong }: OnRoute): void {
  const handOver = (record: LogRecord, { about }: Pick<Decision, 'about'>): string =>
    `${sourceOf(record)} handed over ${about.signalChannelId} ${about.sourceEntryId} in ${about.actorEventId}`;
  const told = timesOf(
    decided.flatMap(({ record, value }) => (value.status === 'handed_over' ? [handOver(record, value)] : [])),
  );
  const wanted = new Set(
    events.flatMap(({ record, value: { id: actorEventId, data } }) => {
      // What remains of an event of several messages is found out later than the change of one of them, so it is told then.
      const isLater = accepted.get(sourceOf(record))?.value.type === 'input.changed';
      const entryIds = isLater ? [data.entry?.sourceEntryId ?? ''] : (data.inboundBatch?.sourceEntryIds ?? []);
      return entryIds.map((sourceEntryId) =>
        handOver(record, { about: { signalChannelId: data.channel.id, sourceEntryId, actorEventId } }),
      );
    }),
  );
  for (const each of wanted) if (told.get(each) !== 1) wrong(`${each}: told ${told.get(each) ?? 0} times`);
  for (const each of told.keys()) if (!wanted.has(each)) wrong(`${each}: there is no such event`);
}

/** An event of a batch has its messages in order; one that a timer closed was closed by its own, and not before its time. */
function checkBatch({ record, value: event }: Read<ActorEvent>, { route, accepted, tellings, wrong }: OnRoute): void {
  const { channel, inboundBatch: batch } = event.data;
  if (batch === undefined) return;
  const members = entriesOf(event).map((entry) => tellings.get(entry)?.[0]);
  const sent = members.map((member) => member?.value.sentAt ?? Number.NaN);
  if (sent.some((at, index) => !(at >= (sent[index - 1] ?? 0)))) wrong(`${placeOf(record)} is out of order`);

  const closing = accepted.get(sourceOf(record))?.value;
  if (closing === undefined || channelOfAccepted(closing) !== channel.id) {
    wrong(`${placeOf(record)} comes from nothing of its conversation`);
    return;
  }
  // What another message closes is closed early.
  if (closing.type !== 'batch.due') return;
  if (closing.batchId !== batch.id || closing.revision !== batch.revision) {
    wrong(`${placeOf(record)} was closed by another's timer`);
  }
  const came = members.map((member) => member?.record.at ?? Number.NaN);
  const { addressedMs = 0, ambientMs = 0, ambientMostMs = 0 } = route.windows ?? {};
  // At least: an edit, a file or a long text makes it wait for longer.
  const dueAt =
    event.type === 'im.message.may_intervene'
      ? Math.min(Math.max(...came) + ambientMs, Math.min(...came) + ambientMostMs)
      : Math.max(...came) + addressedMs;
  if (!(Date.parse(event.time) >= dueAt)) wrong(`${placeOf(record)} is of ${event.time}, before ${dueAt}`);
}
