import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { SchemaRegistry as RegistryClient } from '@kafkajs/confluent-schema-registry';
import { afterEach, describe, expect, inject, test } from 'vitest';
import { z } from 'zod';
import { defineTopic } from '../../schemas/define.ts';
import { jsonSchemaText, subjectOf } from '../../shared/json-schema.ts';
import { createCodec } from '../../shared/runtime/codec.ts';
import { createSchemaRegistry } from '../../shared/runtime/registry.ts';
import { schemaRegistryContract } from '../../shared/testing/schema-registry-contract.ts';

const { schemaRegistryUrl } = inject('infrastructure');

schemaRegistryContract('The registry', async () => createSchemaRegistry({ url: schemaRegistryUrl }));

describe('The wire format', () => {
  const Greeting = z.object({ id: z.string(), text: z.string().optional(), count: z.int().min(0) });
  const value = { id: 'g1', text: 'zażółć', count: 3 };

  const registered = async () => {
    const topic = defineTopic({
      name: `contract-${randomUUID()}`,
      summary: 'Greetings.',
      value: Greeting,
      key: ({ id }) => id,
      keep: 'forever',
      example: value,
    });
    const registry = createSchemaRegistry({ url: schemaRegistryUrl });
    const id = await registry.register(subjectOf(topic), jsonSchemaText(topic));
    return { topic, id, codec: await createCodec({ registry, writes: [topic] }) };
  };

  test('what we write, the Confluent client reads', async () => {
    const { topic, codec } = await registered();
    const client = new RegistryClient({ host: schemaRegistryUrl });
    expect(await client.decode(codec.encode(topic, value))).toEqual(value);
  });

  test('what the Confluent client writes, we read', async () => {
    const { topic, id, codec } = await registered();
    const frame = await new RegistryClient({ host: schemaRegistryUrl }).encode(id, value);
    expect(await codec.decode(topic, frame)).toEqual({ type: 'value', value });
  });

  test('a frame that is too short, or names no schema, is poison', async () => {
    const { topic, codec } = await registered();
    expect(await codec.decode(topic, Buffer.from([0, 0, 0, 0]))).toEqual({
      type: 'poison',
      code: 'frame-invalid',
      details: { bytes: 4 },
    });
    for (const id of [987_654_322, 0, -1]) {
      const frame = Buffer.concat([Buffer.alloc(5), Buffer.from('{}')]);
      frame.writeInt32BE(id, 1);
      expect(await codec.decode(topic, frame)).toEqual({
        type: 'poison',
        code: 'schema-unknown',
        details: { schemaId: id },
      });
    }
  });
});

describe('A registry that is not in order', () => {
  const servers: ReturnType<typeof createServer>[] = [];
  afterEach(() => {
    for (const server of servers.splice(0)) server.close();
  });

  const answering = async (status: number, type: string, body: string): Promise<string> => {
    const server = createServer((_, response) => response.writeHead(status, { 'content-type': type }).end(body));
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = server.address();
    if (address === null || typeof address === 'string') throw new TypeError('no port');
    return `http://127.0.0.1:${address.port}`;
  };
  const unavailable = { name: 'BusError', code: 'infrastructure-unavailable' };

  test('is out of reach: nothing is known of an id, rather than that it is unknown', async () => {
    const registry = createSchemaRegistry({ url: 'http://127.0.0.1:1' });
    await expect(registry.lookUp(1)).rejects.toMatchObject(unavailable);
    await expect(registry.idOf('s-value', '{}')).rejects.toMatchObject(unavailable);
    await expect(registry.register('s-value', '{}')).rejects.toMatchObject(unavailable);
  });

  test.each([
    [404, 'text/html', '<h1>Not Found</h1>'],
    [502, 'text/html', '<h1>Bad Gateway</h1>'],
    [200, 'text/html', '<h1>Welcome</h1>'],
    [401, 'application/json', '{"error_code":40101,"message":"Unauthorized"}'],
    [500, 'application/json', '{"error_code":50001,"message":"Backend"}'],
    [500, 'application/json', 'cut off'],
  ])('answers %i %s: nothing is known either', async (status, type, body) => {
    const registry = createSchemaRegistry({ url: await answering(status, type, body) });
    await expect(registry.lookUp(7)).rejects.toMatchObject(unavailable);
    await expect(registry.idOf('s-value', '{}')).rejects.toMatchObject(unavailable);
  });

  test('an unknown id is asked for once and then remembered', async () => {
    let asked = 0;
    const url = await answering(404, 'application/json', '{"error_code":40403,"message":"Schema not found"}');
    servers[0]?.on('request', () => {
      asked++;
    });
    const registry = createSchemaRegistry({ url });
    expect(await registry.lookUp(7)).toEqual({ type: 'unknown' });
    const first = asked;
    expect(await registry.lookUp(7)).toEqual({ type: 'unknown' });
    expect([first > 0, asked]).toEqual([true, first]);
  });
});
