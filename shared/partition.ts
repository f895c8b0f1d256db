/** The 32-bit murmur2 hash of Kafka's default partitioner. Source: org.apache.kafka.common.utils.Utils#murmur2. */
export function murmur2(bytes: Uint8Array): number {
  const m = 0x5bd1e995;
  const length = bytes.length;
  const at = (index: number): number => bytes[index] ?? 0;
  let h = 0x9747b28c ^ length;
  const words = length >> 2;
  for (let word = 0; word < words; word++) {
    const i = word << 2;
    let k = at(i) | (at(i + 1) << 8) | (at(i + 2) << 16) | (at(i + 3) << 24);
    k = Math.imul(k, m);
    k ^= k >>> 24;
    k = Math.imul(k, m);
    h = Math.imul(h, m) ^ k;
  }
  const rest = words << 2;
  const left = length & 3;
  if (left === 3) h ^= at(rest + 2) << 16;
  if (left >= 2) h ^= at(rest + 1) << 8;
  if (left >= 1) h = Math.imul(h ^ at(rest), m);
  h ^= h >>> 13;
  h = Math.imul(h, m);
  h ^= h >>> 15;
  return h;
}

// Places, timers and outputs of one message mostly have one key, and messages of one key come together.
let last = { key: '', hash: murmur2(Buffer.alloc(0)) };

/** The partition of a key, as every Kafka producer with the default partitioner computes it. */
export function partitionOf(key: string, partitions: number): number {
  if (key !== last.key) last = { key, hash: murmur2(Buffer.from(key, 'utf8')) };
  return (last.hash & 0x7fffffff) % partitions;
}
