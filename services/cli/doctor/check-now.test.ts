import { expect, test } from 'vitest';
import { errors } from '../../../shared/errors.ts';
import { checkClocks, checkDeadLetters } from './check-now.ts';

test('clocks within two seconds agree', () => {
  expect(checkClocks({ storeAheadMs: -2_000, future: [] })).toMatchObject({ status: 'ok', summary: 'agree' });
});

test('clocks that are further apart are told, and which is ahead', () => {
  expect(checkClocks({ storeAheadMs: 2_001, future: ['decisions'] })).toEqual({
    name: 'clocks',
    status: 'warning',
    summary: 'do not agree',
    details: [
      'Redis is 2001 ms ahead of this machine',
      'the brokers are ahead of this machine: decisions holds records of a time that has not come',
    ],
    fix: 'Keep the clocks of all machines in step (NTP).',
  });
  expect(checkClocks({ storeAheadMs: -9_000, future: [] }).details).toEqual(['Redis is 9000 ms behind this machine']);
});

test('dead letters are counted by stage and code, with what each code asks for', () => {
  expect(checkDeadLetters({ letters: [], more: false })).toMatchObject({
    status: 'ok',
    summary: 'none in the last hour',
  });
  const fault = { stage: 'filter', code: 'stage-fault' };
  const letters = [
    fault,
    { stage: 'normalizer', code: 'schema-unknown' },
    { stage: 'normalizer', code: 'schema-unknown' },
  ];
  expect(checkDeadLetters({ letters, more: false })).toEqual({
    name: 'dead letters',
    status: 'warning',
    summary: '3 records in the last hour',
    details: [
      `2 × normalizer schema-unknown: ${errors['schema-unknown'].fix}`,
      `1 × filter stage-fault: ${errors['stage-fault'].fix}`,
    ],
    fix: 'Look at them with `signalbox dlq list --since 1h`, correct what the codes name, then redrive them.',
  });
  expect(checkDeadLetters({ letters: [{ stage: 'x', code: 'of-a-newer-version' }], more: true })).toMatchObject({
    summary: 'more than 1 record in the last hour',
    details: ['1 × x of-a-newer-version'],
  });
});
