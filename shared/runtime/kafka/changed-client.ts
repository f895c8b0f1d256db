// What of kafkajs is replaced, before anything else loads it: some of its parts keep what they load for good. Whoever imports
// kafkajs imports this first.
import { createRequire } from 'node:module';
import { crc32c } from '@node-rs/crc32';
import { type ConnectionClass, overrideConnection, overrideRequestQueue, type RequestQueueClass } from './overrides.ts';
import {
  type Encoded,
  exactProduceRequest,
  exactRequestFrame,
  groupByPartition,
  type ProduceRequest,
} from './request-encoder.ts';

/** Modules of the client, beyond what it offers. */
export const internals = createRequire(import.meta.url);

/** Has everybody who loads a module from now on get what is made of it. */
function replace<Original, Changed>(name: string, change: (original: Original) => Changed): void {
  // `require` is untyped; the tests beside the overrides hold each of these modules to its shape.
  const original = internals(name) as Original;
  const module = internals.cache[internals.resolve(name)];
  if (module === undefined) throw new TypeError('a loaded module is no longer kept');
  module.exports = change(original);
}

const Encoder = internals('kafkajs/src/protocol/encoder') as new (size: number) => Encoded;
const wrap = (bytes: Buffer): Encoded => Object.assign(new Encoder(0), { buf: bytes, offset: bytes.length });

replace('kafkajs/src/protocol/requests/produce/v3/request', (upstream: ProduceRequest) =>
  exactProduceRequest(upstream, wrap, crc32c),
);
replace('kafkajs/src/protocol/request', () => exactRequestFrame(wrap));
replace('kafkajs/src/producer/groupMessagesPerPartition', () => groupByPartition);
overrideRequestQueue(internals('kafkajs/src/network/requestQueue') as RequestQueueClass);
overrideConnection(internals('kafkajs/src/network/connection') as ConnectionClass);
