import { expect, test } from 'vitest';
import { type Binding, bindings } from '../schemas/binding.ts';
import { connections } from '../schemas/connection.ts';
import { connectionStates } from '../schemas/connection-state.ts';
import { unavailableReasonOf } from './availability.ts';

const state = connectionStates.example;
const desk: Binding = { ...bindings.example, updatedAt: state.since - 1 };
const octo = { ...connections.example, updatedAt: state.since - 1 };

test('a binding is unavailable while its connection is, and until one of them is saved', () => {
  const reasonWith = (binding: Binding, savedAt = octo.updatedAt) =>
    unavailableReasonOf(binding, { connection: { ...octo, updatedAt: savedAt }, state });
  expect(reasonWith(desk)).toBe(state.unavailableReason);
  expect(reasonWith({ ...desk, updatedAt: state.since + 1 })).toBeNull();
  expect(reasonWith(desk, state.since + 1)).toBeNull();
});

test('what was said of the binding itself comes first', () => {
  const revoked = { ...desk, unavailableReason: 'token revoked' };
  expect(unavailableReasonOf(revoked, { connection: octo, state })).toBe('token revoked');
  expect(unavailableReasonOf(revoked, { connection: undefined, state: undefined })).toBe('token revoked');
});

test('nothing keeps a binding whose connection had no trouble, or has none any more', () => {
  expect(unavailableReasonOf(desk, { connection: octo, state: undefined })).toBeNull();
  const well = { ...state, unavailableReason: null };
  expect(unavailableReasonOf(desk, { connection: octo, state: well })).toBeNull();
});

test('at an instant from `until` on, facts pass to try', () => {
  const reasonAt = (at: number) => unavailableReasonOf(desk, { connection: octo, state, at });
  expect(reasonAt(state.until - 1)).toBe(state.unavailableReason);
  expect(reasonAt(state.until)).toBeNull();
});
