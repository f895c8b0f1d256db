import { type Decision, joined } from './contract.ts';
import type { LogRecord } from './log.ts';
import type { Row } from './rows.ts';

const week = 7 * 86_400_000;
const [mostDecisions, mostFacts] = [200, 20];

/** The journal once more: what the rows must be after these decisions. */
export function refoldJournal(records: readonly LogRecord[]): ReadonlyMap<string, Row> {
  const rows = new Map<string, Row>();
  for (const { partition, at, value } of records) {
    // The contract of the topic.
    const decision = value as Decision;
    const { rootId, about } = decision;
    const row = (projection: string, key: string) => `decision-journal/${partition}/${projection}:${key}`;
    const journey = row('journeys', rootId);
    // Rows hold what was put there a few lines on.
    const { decisions, dropped } = (rows.get(journey)?.v as { decisions: Decision[]; dropped: number } | undefined) ?? {
      decisions: [],
      dropped: 0,
    };
    if (decisions.some((known) => endOf(known) === endOf(decision))) continue;
    const isKept = decisions.length < mostDecisions;
    const next = isKept ? { decisions: [...decisions, decision], dropped } : { decisions, dropped: dropped + 1 };
    rows.set(journey, { v: next, x: at + week });

    const { providerEventId, signalChannelId, sourceEntryId, actorEventId } = about;
    const handles = [
      ...(providerEventId === undefined ? [] : [joined('provider-event', providerEventId)]),
      ...(signalChannelId === undefined || sourceEntryId === undefined
        ? []
        : [joined('entry', signalChannelId, sourceEntryId)]),
      ...(actorEventId === undefined ? [] : [joined('actor-event', actorEventId)]),
    ];
    for (const handle of handles) {
      const index = row('journey-index', handle);
      const known = (rows.get(index)?.v as { rootIds: string[] } | undefined)?.rootIds ?? [];
      const rootIds = known.includes(rootId) ? known : [...known, rootId].slice(-mostFacts);
      rows.set(index, { v: { rootIds }, x: at + week });
    }
  }
  return rows;
}

const endOf = ({ stage, from, status, about }: Decision): string =>
  JSON.stringify([stage, from, status, about.agentUid, about.bindingName]);
