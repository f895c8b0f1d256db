import { z } from 'zod';
import { topics } from '../../../schemas/index.ts';
import { providers } from '../../../shared/providers/index.ts';
import { stages } from '../../index.ts';
import { defineCommand } from '../command.ts';
import { diagnose } from '../doctor/diagnose.ts';
import { readInstallation } from '../doctor/read.ts';
import { diagnosisText } from '../doctor/show.ts';
import { inOrder } from '../pipeline-order.ts';

const seconds = 1_000;

export const doctor = defineCommand({
  name: 'doctor',
  summary: 'Look at the whole installation, and say what to do.',
  details:
    'Versions, topics, schemas, Redis, keys and secrets, bindings, the group of every stage, whether what it still needs is ' +
    'kept, clocks, dead letters of the last hour. Nothing is written. ✔ is well, ▲ worth a look, ✘ broken; one that is broken makes the exit code 1.',
  options: z.strictObject({
    watch: z.coerce.number().min(0).max(300).default(3).meta({
      description: 'How long a partition with records may stand still before it counts as stuck.',
      placeholder: 'seconds',
    }),
  }),

  async run({ watch }, context) {
    const pipeline = inOrder([...stages.values()]);
    const installation = await readInstallation(context, {
      node: process.versions.node,
      topics,
      stages: [...new Set([...pipeline, ...stages.values()])],
      watchMs: watch * seconds,
    });
    return diagnose(installation, { topics, providers });
  },

  show: (diagnosis, { style }) => diagnosisText(diagnosis, style),
  exitCode: ({ result }) => (result === 'failed' ? 1 : 0),
});
