import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import { decisions } from '../../../schemas/decision.ts';
import { createLog } from '../../../shared/runtime/log.ts';
import { defineCommand } from '../command.ts';
import type { CommandContext } from '../context.ts';
import { openContext } from '../open-context.ts';
import { configure } from '../serving/configure.ts';
import {
  embeddedInfrastructure,
  type LocalInfrastructure,
  migrateLocal,
  realInfrastructure,
} from '../serving/local-infrastructure.ts';
import { type Serving, serve } from '../serving/serve.ts';
import { serviceNames } from '../serving/start-services.ts';

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
    const { terminal, clock, given } = context;
    const log = createLog(given.SIGNALBOX_LOG_LEVEL ?? 'warn');
    const stop = new AbortController();
    process.once('SIGINT', () => stop.abort());
    process.once('SIGTERM', () => stop.abort());
    const infrastructure = embedded
      ? embeddedInfrastructure(given)
      : await realInfrastructure({
          given,
          folder: process.cwd(),
          name: 'infrastructure',
          keepData: true,
          report: terminal.note,
        });
    try {
      if (stop.signal.aborted) return undefined;
      await migrateLocal(infrastructure, { clock, log, stop: stop.signal });
      const end = await serve({
        names: serviceNames,
        ...infrastructure,
        clock,
        stop: stop.signal,
        log,
        onStarted: (serving) =>
          embedded ? tryOut(serving, infrastructure, context) : announce(serving, infrastructure, context),
      });
      if (end.type === 'failed') throw end.error;
    } finally {
      terminal.note('Stopping.');
      await infrastructure.stop();
    }
    return undefined;
  },

  show: () => '',
});

async function announce(
  { ingressUrl, probeUrl }: Serving,
  { environment }: LocalInfrastructure,
  { terminal }: CommandContext,
): Promise<void> {
  terminal.note(`\nKafka      ${environment.KAFKA_BROKERS}`);
  terminal.note(`Redis      ${environment.REDIS_URL}`);
  terminal.note(`Registry   ${environment.SCHEMA_REGISTRY_URL}`);
  terminal.note(`Webhooks   ${ingressUrl}/webhooks/v1/<provider>/<connection>/<kind>`);
  terminal.note(`Probes     ${probeUrl}/livez, /readyz, /metrics`);
  terminal.note(
    '\nReady. In another terminal of this folder: signalbox connections put, bindings put, why. Ctrl-C stops it.',
  );
}

/** Makes something to try, since no other process can reach this memory, and prints outcomes as they come. */
async function tryOut(serving: Serving, infrastructure: LocalInfrastructure, outer: CommandContext): Promise<void> {
  const { terminal, clock, log } = outer;
  const { environment, openPorts } = infrastructure;
  const { context, close } = openContext({
    given: environment,
    environment: () => environment,
    terminal,
    clock,
    log,
    openPorts,
    present: outer.present,
  });
  const webhookSecret = randomBytes(16).toString('hex');
  try {
    await configure(context, {
      connection: { id: 'try', provider: 'github', config: { webhookSecret } },
      routes: [{ agentUid: 'iris', name: 'desk' }],
    });
  } finally {
    await close();
  }
  const codec = await createDecisionReader(serving);
  await serving.world.bus.tail(decisions.name, (partition, record) => codec(partition, record.value, terminal.out));
  terminal.note('\nEverything is in memory: nothing survives this process, and only this terminal shows it.');
  terminal.note(`Webhooks   ${serving.ingressUrl}/webhooks/v1/github/try/events   (binding iris/desk)`);
  terminal.note(`Secret     ${webhookSecret}`);
  terminal.note(`Try        curl with X-GitHub-Event: issue_comment, X-GitHub-Delivery: <any id>,`);
  terminal.note(`           X-Hub-Signature-256: sha256=<HMAC-SHA256 of the body under the secret>`);
  terminal.note('\nOutcomes appear below. Ctrl-C stops it.');
}

async function createDecisionReader({ world }: Serving) {
  const { createCodec } = await import('../../../shared/runtime/codec.ts');
  const codec = await createCodec({ registry: world.registry, writes: [] });
  return (_partition: number, value: Buffer | null, out: (text: string) => void): void => {
    void Promise.resolve(codec.decode(decisions, value)).then((read) => {
      if (read.type !== 'value') return;
      const { status, reason, stage, about } = read.value;
      const route = about.bindingName === undefined ? '' : ` ${about.agentUid}/${about.bindingName}`;
      const what = [about.signalChannelId, about.sourceEntryId].filter((part) => part !== undefined).join(' ');
      out(
        `${status}${route}${reason === undefined ? '' : ` (${reason})`}  ${what}  event ${about.providerEventId ?? '?'}  by ${stage}`,
      );
    });
  };
}
