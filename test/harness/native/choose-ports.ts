import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import type { InfrastructureOptions } from '../parts.ts';
import { askedPort, freePort, isFree } from '../ports.ts';

const Ports = z.object({ kafka: z.int(), controller: z.int(), redis: z.int(), registry: z.int() });
type Ports = z.infer<typeof Ports>;

/** Chooses the ports; where data is kept they are the same at the next start, so that exported addresses stay true. */
export async function choosePorts({ dir, keepData, ports = {} }: InfrastructureOptions): Promise<Ports> {
  const file = join(dir, 'ports.json');
  const before = existsSync(file) ? Ports.parse(JSON.parse(readFileSync(file, 'utf8'))) : undefined;
  const choose = async (name: keyof Ports): Promise<number> => {
    const asked = name === 'controller' ? undefined : ports[name];
    if (asked !== undefined) return askedPort(asked);
    const last = before?.[name];
    return last !== undefined && (await isFree(last)) ? last : freePort();
  };
  const chosen = {
    kafka: await choose('kafka'),
    controller: await choose('controller'),
    redis: await choose('redis'),
    registry: await choose('registry'),
  };
  if (keepData) writeFileSync(file, JSON.stringify(chosen));
  return chosen;
}
