import { randomInt } from 'node:crypto';
import { z } from 'zod';
import { pipelineStages } from '../e2e/kafka.ts';
import { runChaos } from './run-chaos.ts';
import { openChaosWorld } from './world.ts';

const count = (text: number) => z.coerce.number().int().min(1).default(text);
const Settings = z.object({
  SEED: z.coerce.number().int().min(0).max(4_294_967_295).optional(),
  FACTS: count(20_000),
  FAULTS: count(200),
  TIME_MS: count(480_000),
});

const {
  SEED: seed = randomInt(1_000_000),
  FACTS: facts,
  FAULTS: faults,
  TIME_MS: timeMs,
} = Settings.parse(process.env);
const startedAt = performance.now();
const say = (text: string): void => {
  process.stdout.write(`${((performance.now() - startedAt) / 1_000).toFixed(1).padStart(6)} s  ${text}\n`);
};
say(`SEED=${seed} FACTS=${facts} FAULTS=${faults} TIME_MS=${timeMs}`);

const world = await openChaosWorld(say);
try {
  const processes = pipelineStages.map(({ stage }) => [stage]);
  const report = await runChaos({ world, seed, facts, faults, timeMs, calmMs: 300_000, processes, say });
  const { problems, told: _, ...rest } = report;
  process.stdout.write(`${JSON.stringify({ seed, ...rest }, null, 2)}\n`);
  for (const problem of problems.slice(0, 20)) say(`WRONG ${problem.slice(0, 2_000)}`);
  const wrong = problems.length + report.deadLetters + report.badStops.length + report.lateStops.length;
  say(`${Object.values(report.faults).reduce((sum, each) => sum + each, 0)} faults, ${wrong} wrong, SEED=${seed}`);
  if (wrong > 0) process.exitCode = 1;
} finally {
  await world.close();
}
