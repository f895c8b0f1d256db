import { expect, test } from 'vitest';
import { recordingOwner } from '../../testing/recording-owner.ts';
import type { Fetched } from './fetch.ts';
import { createLane, type LanePosition } from './lane.ts';

const record = (offset: bigint) => ({
  offset,
  at: 0,
  key: null,
  value: Buffer.from(`v${offset}`),
  header: undefined,
  traceparent: undefined,
});
const fetched = (from: bigint, next: bigint): Fetched => ({
  partition: 0,
  from,
  next,
  end: 100n,
  records: Array.from({ length: Number(next - from) }, (_, index) => record(from + BigInt(index))),
});
const at = (start: bigint) => async (): Promise<LanePosition> => ({ committed: 0n, start });

/** A lane, its owner, and what it reported; `settled` resolves when all that was begun has ended. */
function laneWith(behaviour: Parameters<typeof recordingOwner>[0] = {}) {
  const owner = recordingOwner(behaviour);
  const failures: unknown[] = [];
  const lane = createLane({
    partition: 0,
    owner,
    changed: () => undefined,
    failed: (error) => failures.push(error),
  });
  const settled = () => new Promise<void>((resolve) => setImmediate(resolve));
  return { lane, owner, failures, settled };
}

test('a lane reads where the owner says, and goes on after each batch', async () => {
  const { lane, owner, settled } = laneWith();
  lane.open(at(5n));
  expect(lane.wanted()).toBeUndefined();
  await settled();
  expect(lane.wanted()).toBe(5n);
  await lane.deliver(fetched(5n, 8n));
  expect([lane.wanted(), owner.texts(0)]).toEqual([8n, ['v5', 'v6', 'v7']]);
});

test('what was fetched for another position is dropped', async () => {
  const { lane, owner, settled } = laneWith();
  lane.open(at(5n));
  await settled();
  await lane.deliver(fetched(4n, 8n));
  await lane.deliver(fetched(6n, 8n));
  await lane.deliver(fetched(5n, 5n));
  expect([lane.wanted(), owner.texts(0)]).toEqual([5n, []]);
});

test('the answer of a call that a new assignment overtook is void, and the assignment waits for it', async () => {
  const gate = Promise.withResolvers<void>();
  const { lane, owner, settled } = laneWith({ whileBatch: () => gate.promise });
  lane.open(at(5n));
  await settled();
  const delivered = lane.deliver(fetched(5n, 8n));
  await settled();
  lane.open(at(6n));
  await settled();
  expect([owner.timesAssigned(0), lane.wanted()]).toEqual([1, undefined]);
  gate.resolve();
  await delivered;
  await settled();
  expect([owner.timesAssigned(0), lane.wanted(), owner.overlapped()]).toEqual([2, 6n, false]);
});

test('a suspended lane reads nothing until it is opened again', async () => {
  const { lane, owner, settled } = laneWith();
  lane.open(at(5n));
  await settled();
  await lane.suspend();
  await lane.deliver(fetched(5n, 8n));
  expect([lane.wanted(), owner.texts(0)]).toEqual([undefined, []]);
  lane.open(at(5n));
  await settled();
  expect(lane.wanted()).toBe(5n);
});

test('an error of the owner is reported, unless the partition was lost meanwhile', async () => {
  const thrown = new Error('a fault of the owner');
  const gate = Promise.withResolvers<void>();
  const { lane, owner, failures, settled } = laneWith({ whileBatch: () => gate.promise });
  lane.open(at(0n));
  await settled();
  const delivered = lane.deliver(fetched(0n, 1n));
  await settled();
  lane.close();
  gate.reject(thrown);
  await delivered;
  expect([failures, owner.held()]).toEqual([[], []]);
  lane.open(at(0n));
  await settled();
  await lane.deliver(fetched(0n, 1n));
  expect(failures).toEqual([thrown]);
});
