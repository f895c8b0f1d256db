import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import type { Decision } from '../../../schemas/decision.ts';
import { defineCommand } from '../command.ts';
import { configure } from '../serving/configure.ts';
import { type LocalProduct, runLocalProduct, watchDecisions } from '../serving/local-product.ts';

export const up = defineCommand({
  name: 'up',
  summary: 'Run the whole product on this machine: infrastructure and all services, until Ctrl-C.',
  details:
    'How the infrastructure is reached is written to .signalbox/env, which the other commands read in this folder; what ' +
    'it stores stays in .signalbox and is there again at the next start. With --embedded everything is in the memory of ' +
    'this process: a connection and a binding to try are made, outcomes are printed as they come, and nothing survives.',
  options: z.strictObject({
    embedded: z.boolean().default(false).describe('Use a twin of Kafka and Redis in memory: nothing survives.'),
  }),

  async run({ embedded }, context) {
    await runLocalProduct(context, {
      embedded,
      given: context.given,
      name: 'infrastructure',
      keepData: true,
      logLevel: 'warn',
      onStarted: embedded ? tryOut : announce,
    });
    return undefined;
  },

  show: () => '',
});

async function announce({
  environment,
  ingressUrl,
  apiUrl,
  probeUrl,
  context: { terminal },
}: LocalProduct): Promise<void> {
  terminal.note(`\nKafka      ${environment.KAFKA_BROKERS}`);
  terminal.note(`Redis      ${environment.REDIS_URL}`);
  terminal.note(`Registry   ${environment.SCHEMA_REGISTRY_URL}`);
  terminal.note(`Webhooks   ${ingressUrl}/webhooks/v1/<provider>/<connection>/<kind>`);
  terminal.note(`API        ${apiUrl}/signal-bindings`);
  terminal.note(`Probes     ${probeUrl}/livez, /readyz, /metrics`);
  terminal.note(
    '\nReady. In another terminal of this folder: signalbox connections put, bindings put, why. Ctrl-C stops it.',
  );
}

/** Makes something to try, since no other process can reach this memory, and prints outcomes as they come. */
async function tryOut({ world, ingressUrl, context }: LocalProduct): Promise<void> {
  const { terminal } = context;
  const webhookSecret = randomBytes(16).toString('hex');
  await configure(context, {
    connection: { id: 'try', provider: 'github', config: { webhookSecret } },
    routes: [{ agentUid: 'iris', name: 'desk' }],
  });
  terminal.note(`Webhooks   ${ingressUrl}/webhooks/v1/github/try/events   (binding iris/desk)`);
  terminal.note(`Secret     ${webhookSecret}`);
  terminal.note('Try        a POST with X-GitHub-Event: issue_comment, X-GitHub-Delivery: <any id> and');
  terminal.note('           X-Hub-Signature-256: sha256=<HMAC-SHA256 of the body under the secret, in hex>');
  terminal.note('\nOutcomes appear below. Ctrl-C stops it.');
  await watchDecisions(world, (decision) => terminal.out(lineOf(decision)));
}

function lineOf({ status, reason, stage, about }: Decision): string {
  const parts = [
    status,
    about.bindingName === undefined ? undefined : `${about.agentUid}/${about.bindingName}`,
    reason === undefined ? undefined : `(${reason})`,
    about.signalChannelId,
    about.sourceEntryId,
    about.providerEventId === undefined ? undefined : `event ${about.providerEventId}`,
    `by ${stage}`,
  ];
  return parts.filter((part) => part !== undefined).join('  ');
}
