import { z } from 'zod';
import { defineCommand } from '../command.ts';
import { openRealPorts } from '../ports.ts';
import { serve } from '../serving/serve.ts';
import { serviceNames } from '../serving/start-services.ts';

export const run = defineCommand({
  name: 'run',
  summary: 'Run services in this process: one of them, as in production, or several.',
  details:
    `The services are ${serviceNames.join(', ')}. Start one again to scale it: the copies share its partitions. They wait ` +
    'while Kafka, Redis or the registry is away. One signal stops them gracefully, a second one at once.',
  examples: ['signalbox run filter', 'signalbox run ingress normalizer'],
  options: z.strictObject({
    services: z.array(z.enum(serviceNames)).min(1).describe('What to run.'),
  }),
  positional: ['services'],

  async run({ services }, { environment, clock, terminal }) {
    const end = await serve({
      names: [...new Set(services)],
      environment: environment(),
      openPorts: openRealPorts,
      clock,
      stop: new AbortController().signal,
      onStarted: async ({ ingressUrl, apiUrl, probeUrl }) => {
        if (ingressUrl !== undefined) terminal.note(`Webhooks:  ${ingressUrl}/webhooks/v1/…`);
        if (apiUrl !== undefined) terminal.note(`API:       ${apiUrl}/signal-bindings`);
        terminal.note(`Probes:    ${probeUrl}/readyz`);
      },
    });
    if (end.type === 'failed') throw end.error;
    return undefined;
  },

  show: () => '',
});
