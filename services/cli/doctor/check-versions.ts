import { errors } from '../../../shared/errors.ts';
import type { BusInspection } from '../../../shared/runtime/bus.ts';
import { describeRefused, refusedRequests } from '../../../shared/runtime/protocol-versions.ts';
import type { StoreInspection } from '../../../shared/runtime/store.ts';
import { broken, type Check, checkOf, counted, well } from './check.ts';

const leastNode = 24;
const leastRedis = 7;

const majorOf = (version: string): number => Number.parseInt(version, 10);

/** Sources run by type stripping, which older ones do not have. */
export function checkNode(version: string): Check {
  if (majorOf(version) >= leastNode) return well('node', version);
  return {
    name: 'node',
    status: 'failed',
    summary: `${version}, and ${leastNode} is needed`,
    details: [],
    fix: 'Run `npm ci`: it installs the right one beside the sources.',
  };
}

/** Each request must have a version that both sides know; the client takes the highest of them. */
export function checkKafka({ brokers, requests }: Pick<BusInspection, 'brokers' | 'requests'>): Check {
  const refused = refusedRequests(requests);
  const found = refused.map((request) => broken(describeRefused(request), errors['brokers-unsupported'].fix));
  return checkOf('kafka', found, {
    well: `${counted(brokers, 'broker')}, ${counted(requests.length, 'kind')} of request understood`,
    notWell: `the brokers do not take ${counted(refused.length, 'kind')} of request`,
  });
}

/** Scripts and commands in use are there since that version. */
export function checkRedis({ version }: Pick<StoreInspection, 'version'>): Check {
  if (majorOf(version) >= leastRedis) return well('redis', version);
  return {
    name: 'redis',
    status: 'failed',
    summary: `${version}, and ${leastRedis} is needed`,
    details: [],
    fix: `Upgrade Redis to ${leastRedis} or newer, or use Valkey.`,
  };
}
