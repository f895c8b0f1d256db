import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { Topic } from '../../schemas/define.ts';
import { topics } from '../../schemas/index.ts';
import { BusError } from '../errors.ts';
import { jsonSchemaText, subjectOf } from '../json-schema.ts';
import { type Ask, asks, type Counted, counted } from '../testing/counting-stage.ts';
import { settle } from '../testing/settle.ts';
import { testCodec } from '../testing/test-codec.ts';
import { createCodec } from './codec.ts';
import { createSimulation } from './memory/simulation.ts';

const codec = await testCodec([asks as Topic, counted as Topic]);
const count: Ask = { type: 'count', key: 'a', emit: 1 };
const frameOf = (id: number, json: string | Buffer): Buffer => {
  const head = Buffer.alloc(5);
  head.writeInt32BE(id, 1);
  return Buffer.concat([head, Buffer.from(json)]);
};
const failureOf = (act: () => unknown): unknown => {
  try {
    return act();
  } catch (error) {
    return error instanceof BusError ? { code: error.code, details: error.details } : error;
  }
};

/** A codec over a registry in memory, and what it looks up there. */
async function overRegistry({ failing = false } = {}) {
  const simulation = createSimulation({ seed: 1, faults: { registryFails: failing ? 0.6 : 0 } });
  const { registry } = simulation.process('codec');
  const lookedUp: number[] = [];
  const watched = {
    ...registry,
    lookUp(id: number) {
      lookedUp.push(id);
      return registry.lookUp(id);
    },
  };
  const made = await createCodec({ registry: watched, writes: [] });
  return { simulation, codec: made, lookedUp };
}

describe('a frame', () => {
  test('is a zero byte, the id of the schema and the value as JSON', () => {
    expect(codec.encode(counted, { key: 'zażółć', count: 2 })).toEqual(frameOf(2, '{"key":"zażółć","count":2}'));
  });

  test('is read as what was written, for every topic there is', async () => {
    const all = await testCodec(topics);
    const read = topics.map((topic) => all.decode(topic, all.encode(topic, topic.example)));
    expect(read).toEqual(topics.map((topic) => ({ type: 'value', value: topic.value.parse(topic.example) })));
  });

  const anyCount: fc.Arbitrary<Counted> = fc.record(
    { key: fc.string({ unit: 'binary' }), count: fc.maxSafeInteger(), padding: fc.string({ unit: 'grapheme' }) },
    { requiredKeys: ['key', 'count'] },
  );

  test('is read as what was written, whatever its texts hold', () => {
    fc.assert(
      fc.property(anyCount, (written) => {
        expect(codec.decode(counted, codec.encode(counted, written))).toEqual({ type: 'value', value: written });
      }),
    );
  });

  test('is no longer than was foreseen, and no shorter than a third of it', () => {
    fc.assert(
      fc.property(anyCount, (written) => {
        const [bytes, most] = [codec.encode(counted, written).length, codec.bytesAtMost(counted, written)];
        expect(bytes).toBeLessThanOrEqual(most);
        expect(bytes * 3).toBeGreaterThanOrEqual(most);
      }),
    );
  });

  test('that cannot be made has no length either', () => {
    // The contract is what the types say, too.
    const wrong = { key: 'a', count: 'many' } as unknown as Counted;
    expect(failureOf(() => codec.bytesAtMost(counted, wrong))).toEqual(failureOf(() => codec.encode(counted, wrong)));
  });

  test('may hold members that its reader does not know: they are passed over', () => {
    expect(codec.decode(counted, frameOf(2, '{"key":"a","count":1,"colour":"red"}'))).toEqual({
      type: 'value',
      value: { key: 'a', count: 1 },
    });
  });

  test('of a type that its reader is older than is no poison', () => {
    expect(codec.decode(asks, frameOf(1, '{"type":"dance","key":7}'))).toEqual({ type: 'unknown-type' });
  });
});

describe('poison', () => {
  const poison = (code: string, details: object) => ({ type: 'poison', code, details });

  test.each([
    ['no value', null, { problem: 'no value' }],
    ['nothing', Buffer.alloc(0), { bytes: 0 }],
    ['a frame without a value', frameOf(1, ''), { bytes: 5 }],
    ['JSON without a frame', Buffer.from('{"type":"calm"}'), { bytes: 15 }],
    ['another magic byte', Buffer.from([1, 0, 0, 0, 1, 0x7b, 0x7d]), { bytes: 7 }],
    ['half a JSON', frameOf(1, '{"type":"count"'), { problem: 'not JSON' }],
    ['binary', frameOf(1, Buffer.from([0xff, 0xfe, 0x00])), { problem: 'not JSON' }],
  ])('is %s: the frame is invalid', (_, bytes, details) => {
    expect(codec.decode(asks, bytes)).toEqual(poison('frame-invalid', details));
  });

  test.each([
    ['a number', '7', '(whole value): invalid_type'],
    ['null', 'null', '(whole value): invalid_type'],
    ['an array', '[]', '(whole value): invalid_type'],
    ['a union without its tag', '{"key":"a"}', 'type: invalid_union'],
    ['a tag that is no text', '{"type":7}', 'type: invalid_union'],
    ['a known type with a wrong member', '{"type":"count","key":"swordfish","emit":"x"}', 'emit: invalid_type'],
    ['a known type without its members', '{"type":"count"}', 'key: invalid_type; emit: invalid_type'],
  ])('is %s: the contract is violated, and the places are named without their values', (_, json, issues) => {
    expect(codec.decode(asks, frameOf(1, json))).toEqual(poison('contract-violated', { issues }));
  });

  test('names five places at most, however many are wrong', () => {
    const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g'];
    const wide: Topic = {
      ...(counted as Topic),
      value: z.object(Object.fromEntries(names.map((each) => [each, z.int()]))),
    };
    expect(codec.decode(wide, frameOf(1, '{}'))).toEqual(
      poison('contract-violated', {
        issues: names
          .slice(0, 5)
          .map((each) => `${each}: invalid_type`)
          .join('; '),
      }),
    );
  });

  test.each([0, -1, 3, 2_147_483_647])('is the schema id %i that the registry does not know', async (id) => {
    expect(await codec.decode(asks, frameOf(id, JSON.stringify(count)))).toEqual(
      poison('schema-unknown', { schemaId: id }),
    );
  });

  test('never throws, whatever the bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
        const decoded = codec.decode(asks, frameOf(1, Buffer.from(bytes)));
        expect(decoded).toMatchObject({ type: 'poison' });
      }),
    );
  });
});

describe('a schema id that is met for the first time', () => {
  test('is looked up once, and known from then on', async () => {
    const { simulation, codec: reader, lookedUp } = await overRegistry();
    const id = simulation.register('counted-value', jsonSchemaText(counted as Topic));
    const bytes = frameOf(id, '{"key":"a","count":1}');
    const value = { type: 'value', value: { key: 'a', count: 1 } };
    const first = reader.decode(counted, bytes);
    expect(first).toBeInstanceOf(Promise);
    expect(await settle(simulation, Promise.resolve(first))).toEqual(value);
    expect(reader.decode(counted, bytes)).toEqual(value);
    expect(lookedUp).toEqual([id]);
  });

  test('that nobody registered is asked for again, since somebody may register it', async () => {
    const { simulation, codec: reader, lookedUp } = await overRegistry();
    const bytes = frameOf(1, '{"key":"a","count":1}');
    const decoded = () => settle(simulation, Promise.resolve(reader.decode(counted, bytes)));
    expect(await decoded()).toMatchObject({ code: 'schema-unknown' });
    simulation.register('counted-value', jsonSchemaText(counted as Topic));
    expect(await decoded()).toMatchObject({ type: 'value' });
    expect(lookedUp).toEqual([1, 1]);
  });

  test('is no poison while the registry is away: whoever asks is told to wait', async () => {
    const { simulation, codec: reader } = await overRegistry({ failing: true });
    simulation.register('counted-value', jsonSchemaText(counted as Topic));
    const outcomes = new Set<unknown>();
    for (let attempt = 0; attempt < 30; attempt++) {
      const asked = Promise.resolve(reader.decode(counted, frameOf(1, '{"key":"a","count":1}')));
      const outcome = await settle(
        simulation,
        asked.then(
          ({ type }) => type,
          (error: unknown) => (error instanceof BusError ? error.code : error),
        ),
      );
      outcomes.add(outcome);
      if (outcome === 'value') break;
    }
    expect([...outcomes]).toEqual(['infrastructure-unavailable', 'value']);
  });
});

describe('what is to be written', () => {
  test('must fit its topic, and is refused without a word of what it holds', () => {
    const wrong = { key: 'swordfish', count: 'swordfish' } as unknown as Counted;
    expect(failureOf(() => codec.encode(counted, wrong))).toEqual({
      code: 'contract-violated',
      details: { topic: 'counted', issues: 'count: invalid_type' },
    });
  });

  test('loses members that its topic does not have', () => {
    const more = { key: 'a', count: 1, colour: 'red' };
    expect(codec.encode(counted, more)).toEqual(codec.encode(counted, { key: 'a', count: 1 }));
  });

  test('must be of a topic that the codec was made for', async () => {
    const reader = await testCodec([asks as Topic]);
    expect(failureOf(() => reader.encode(counted, { key: 'a', count: 1 }))).toEqual({
      code: 'schema-missing',
      details: { topic: 'counted' },
    });
  });

  test('must be registered as it is declared now, or there is no codec', async () => {
    const simulation = createSimulation({ seed: 1 });
    const { registry } = simulation.process('codec');
    simulation.register(subjectOf(asks), jsonSchemaText(asks as Topic));
    const made = createCodec({ registry, writes: [asks as Topic, counted as Topic] });
    await expect(settle(simulation, made)).rejects.toMatchObject({
      code: 'schema-missing',
      details: { topic: 'counted' },
    });
  });
});
