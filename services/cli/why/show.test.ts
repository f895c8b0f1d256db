import { expect, test } from 'vitest';
import type { JourneyReport, RecordHop } from '../../../shared/journey/report.ts';
import { plain } from '../style.ts';
import { showJourneys } from './show.ts';

const startedAt = Date.UTC(2031, 1, 28, 6);
const page = { style: plain, now: startedAt + 120_000 };
const timed = (ms: number) => ({ at: startedAt + ms, sinceFirstMs: ms });

const record = (topic: string, more: Partial<RecordHop>): RecordHop => ({
  type: 'record',
  topic,
  partition: 3,
  offset: '17',
  next: [],
  ...more,
});

const journey: JourneyReport = {
  rootId: 'raw-1',
  startedAt,
  endedAt: startedAt + 1_250,
  about: { connectionId: 'octo', providerEventId: 'e1', signalChannelId: 'github:o/r#1', sourceEntryId: 'issue:1' },
  dropped: 0,
  hops: [
    record('raw-provider-facts', {
      ...timed(0),
      next: [
        record('normalized-facts', {
          ...timed(3),
          stage: 'normalizer',
          effect: '0',
          next: [
            record('accepted-facts', {
              ...timed(6),
              stage: 'filter',
              effect: 'iris|desk',
              next: [
                {
                  type: 'decision',
                  stage: 'mirror-projector',
                  status: 'accepted',
                  agentUid: 'iris',
                  bindingName: 'desk',
                  actorEventId: 'e1',
                  next: [record('actor-events', { ...timed(9), stage: 'mirror-projector', effect: '2' })],
                },
              ],
            }),
            {
              type: 'decision',
              stage: 'filter',
              status: 'dead_letter',
              reason: 'invalid_binding_filter',
              agentUid: 'iris',
              bindingName: 'odd',
              topic: 'decisions',
              partition: 1,
              offset: '5',
              ...timed(1_250),
              next: [
                record('dead-letters', {
                  ...timed(1_250),
                  stage: 'filter',
                  letter: { code: 'invalid_binding_filter', details: { reason: 'no such member' } },
                }),
              ],
            },
            record('accepted-facts', {
              ...timed(7),
              stage: 'filter',
              effect: 'zoe|all',
              next: [{ type: 'waiting', stage: 'mirror-projector', lag: '40', next: [] }],
            }),
          ],
        }),
      ],
    }),
  ],
};

test('routes part as branches, and everything that is said stands in columns', () => {
  expect(showJourneys([journey], page)).toBe(
    [
      'raw-1',
      'connection octo · github:o/r#1 · issue:1 · event e1',
      '2031-02-28 06:00:00.000Z (2 min ago), 1.250 s in all',
      'accepted for iris/desk, dead_letter for iris/odd, waiting for mirror-projector',
      '',
      '   +0 ms  06:00:00.000  raw-provider-facts/3/17',
      '   +3 ms  06:00:00.003  └─ normalizer → normalized-facts/3/17',
      '   +6 ms  06:00:00.006     ├─ filter → accepted-facts/3/17                     for iris/desk',
      '                           │  └─ mirror-projector: ✔ accepted                  for iris/desk  event e1',
      '   +9 ms  06:00:00.009     │     └─ mirror-projector → actor-events/3/17',
      '+1.250 s  06:00:01.250     ├─ filter: ✗ dead_letter                            for iris/odd  invalid_binding_filter  decisions/1/5',
      '+1.250 s  06:00:01.250     │  └─ filter → dead-letters/3/17                    invalid_binding_filter  reason: no such member',
      '   +7 ms  06:00:00.007     └─ filter → accepted-facts/3/17                     for zoe/all',
      '                              └─ … waiting for mirror-projector: group lag 40',
    ].join('\n'),
  );
});

test('a record that has left its topic is said to be gone, and decisions past the bound are counted', () => {
  const old: JourneyReport = {
    rootId: 'raw-1',
    about: {},
    dropped: 2,
    hops: [
      record('raw-provider-facts', { next: [{ type: 'decision', stage: 'filter', status: 'filtered', next: [] }] }),
    ],
  };
  expect(showJourneys([old], page)).toBe(
    [
      'raw-1',
      'filtered',
      '',
      'raw-provider-facts/3/17  no longer kept',
      '└─ filter: ○ filtered',
      '2 more decisions were not kept.',
    ].join('\n'),
  );
});
