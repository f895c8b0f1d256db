/** A request of Kafka's protocol, as far as its head tells. */
export interface KafkaRequest {
  readonly api: Api;
  readonly correlationId: number;
  readonly clientId: string;
}

/** The requests that a fault can choose; all others are one. */
export type Api = 'Produce' | 'Fetch' | 'JoinGroup' | 'OffsetCommit' | 'Heartbeat' | 'other';

const apis: ReadonlyMap<number, Api> = new Map([
  [0, 'Produce'],
  [1, 'Fetch'],
  [8, 'OffsetCommit'],
  [11, 'JoinGroup'],
  [12, 'Heartbeat'],
]);

/** Reads the head of a request: size, key of the api, its version, correlation id, name of the client. */
export function readRequest(frame: Buffer): KafkaRequest {
  const nameBytes = frame.readInt16BE(12);
  return {
    api: apis.get(frame.readInt16BE(4)) ?? 'other',
    correlationId: frame.readInt32BE(8),
    clientId: frame.toString('utf8', 14, 14 + Math.max(0, nameBytes)),
  };
}

/** The correlation id of an answer. */
export const correlationOf = (frame: Buffer): number => frame.readInt32BE(4);

/** Cuts a stream into frames, each with its four bytes of size, however the stream comes in pieces. */
export function createFrameCutter(): (piece: Buffer) => readonly Buffer[] {
  let pieces: Buffer[] = [];
  let waiting = 0;
  return (piece) => {
    pieces.push(piece);
    waiting += piece.length;
    const size = (): number => {
      if (waiting < 4) return Number.POSITIVE_INFINITY;
      if ((pieces[0]?.length ?? 0) < 4) pieces = [Buffer.concat(pieces)];
      return 4 + (pieces[0]?.readInt32BE(0) ?? 0);
    };
    const frames: Buffer[] = [];
    for (let end = size(); waiting >= end; end = size()) {
      const all = pieces.length === 1 && pieces[0] !== undefined ? pieces[0] : Buffer.concat(pieces);
      frames.push(all.subarray(0, end));
      pieces = [all.subarray(end)];
      waiting -= end;
    }
    return frames;
  };
}
