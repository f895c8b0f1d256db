import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { defineConfig, flag, readConfig, variableOf } from './config.ts';
import { BusError } from './errors.ts';

const count = (from: number, to: number) => z.coerce.number().int().min(from).max(to);
const bell = defineConfig('BELL', {
  maxRings: count(1, 20).default(3),
  room: z.string().min(3).max(9),
  mode: z.enum(['soft', 'loud']).default('soft'),
  quiet: flag().default(false),
});
const door = defineConfig('DOOR', { width: count(1, 9).default(2), key: z.string().regex(/^k/).optional() });

const failure = (environment: Record<string, string | undefined>): unknown => {
  try {
    return readConfig([bell, door], environment);
  } catch (error) {
    return error instanceof BusError ? { code: error.code, details: error.details } : error;
  }
};

test('a setting is a variable under the prefix of its folder', () => {
  expect(['maxRings', 'room', 'http2Url'].map((field) => variableOf('BELL', field))).toEqual([
    'BELL_MAX_RINGS',
    'BELL_ROOM',
    'BELL_HTTP2_URL',
  ]);
});

describe('settings that fit', () => {
  test('are read in the order of their declarations, with defaults for what is absent or empty', () => {
    const environment = { BELL_ROOM: 'hall', BELL_MAX_RINGS: '20', BELL_MODE: '', DOOR_KEY: undefined, PATH: '/bin' };
    expect(readConfig([bell, door], environment)).toEqual([
      { maxRings: 20, room: 'hall', mode: 'soft', quiet: false },
      { width: 2 },
    ]);
  });

  test.each([
    ['true', true],
    ['1', true],
    ['yes', true],
    ['on', true],
    ['YES', true],
    ['false', false],
    ['0', false],
    ['no', false],
    ['off', false],
  ])('say %s for a switch', (text, value) => {
    const [{ quiet }] = readConfig([bell], { BELL_ROOM: 'hall', BELL_QUIET: text });
    expect(quiet).toBe(value);
  });

  test('may stand beside names of other prefixes, and beside ones that only begin alike', () => {
    expect(readConfig([door], { DOORBELL_RING: 'x', DOORS: 'x', BELL_ROOM: '' })).toEqual([{ width: 2 }]);
  });
});

describe('settings that do not fit', () => {
  test('are all told at once, unknown names among them', () => {
    expect(
      failure({ BELL_MAX_RINGS: '21', BELL_MODE: 'shrill', BELL_QUIET: 'perhaps', DOOR_WIDHT: '2', DOOR_KEY: 'x' }),
    ).toEqual({
      code: 'setting-invalid',
      details: {
        problems: [
          expect.stringMatching(/^BELL_MAX_RINGS: .*20/),
          expect.stringMatching(/^BELL_MODE: .*soft.*loud/),
          expect.stringMatching(/^BELL_QUIET: ./),
          expect.stringMatching(/^BELL_ROOM: ./),
          expect.stringMatching(/^DOOR_KEY: ./),
          'DOOR_WIDHT: no such setting',
        ],
      },
    });
  });

  test('keep their values to themselves', () => {
    const secret = 'xq7Swordfish';
    const environment = {
      BELL_MAX_RINGS: secret,
      BELL_ROOM: secret,
      BELL_MODE: secret,
      BELL_QUIET: secret,
      BELL_OTHER: secret,
      DOOR_WIDTH: secret,
      DOOR_KEY: secret,
    };
    expect(failure(environment)).toMatchObject({ details: { problems: { length: 7 } } });
    expect(JSON.stringify(failure(environment))).not.toContain(secret);
  });

  test.each(['2.5', '0', 'NaN', '1e9', '0x10000'])('include %s for a number from 1 to 20', (text) => {
    expect(failure({ BELL_ROOM: 'hall', BELL_MAX_RINGS: text })).toMatchObject({ code: 'setting-invalid' });
  });
});
