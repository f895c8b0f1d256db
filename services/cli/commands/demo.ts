import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import type { Decision } from '../../../schemas/decision.ts';
import { BusError } from '../../../shared/errors.ts';
import { findDecided } from '../../../shared/journey/find.ts';
import type { JourneyReport } from '../../../shared/journey/report.ts';
import { walkJourney } from '../../../shared/journey/walk.ts';
import { defineCommand } from '../command.ts';
import type { CommandContext } from '../context.ts';
import { configure } from '../serving/configure.ts';
import { type LocalProduct, runLocalProduct, watchDecisions } from '../serving/local-product.ts';
import { githubSamples, type Sample, sendSample } from '../serving/samples.ts';
import { table } from '../style.ts';
import { showJourneys } from '../why/show.ts';
import { openJourneyWorld } from '../why/world.ts';

const connectionId = 'octo';
const routes = [
  { agentUid: 'iris', name: 'desk' },
  { agentUid: 'otto', name: 'reviews', cel: "signal.channel.metadata.githubKind == 'pull_request'" },
];
const told = 'issue_comment_created';
/** The event whose journey is told is sent twice. */
const deliveries = 2;
const lookMs = 25;
const patienceMs = 60_000;
const sendTimeoutMs = 15_000;

export const demo = defineCommand({
  name: 'demo',
  summary: 'Show the whole pipeline at work: recorded payloads of GitHub go in, an agent is woken.',
  details:
    'Starts Kafka, Redis, a registry and every service in a folder of its own, which is removed at the end; --keep stays ' +
    'until Ctrl-C. With --embedded all of it is in the memory of this process, and neither Java nor Docker is needed.',
  options: z.strictObject({
    keep: z.boolean().default(false).describe('Stay up after the demonstration, until Ctrl-C.'),
    embedded: z.boolean().default(false).describe('Use a twin of Kafka and Redis in memory: nothing survives.'),
  }),

  async run({ keep, embedded }, context) {
    await runLocalProduct(context, {
      embedded,
      // A demonstration chooses its ports by itself, so that it runs beside anything else.
      given: { ...context.given, INGRESS_PORT: '0', API_PORT: '0' },
      name: 'demo',
      keepData: false,
      logLevel: 'error',
      async onStarted(product) {
        await play(product);
        if (!keep) return product.stop();
        const { ingressUrl, probeUrl } = product;
        context.terminal.note(
          `Webhooks: ${ingressUrl}/webhooks/v1/…   Probes and metrics: ${probeUrl}/readyz, /metrics`,
        );
        context.terminal.note('Ctrl-C stops it.');
      },
    });
    return undefined;
  },

  show: () => '',
});

/** Sends the samples, waits until each has an outcome, and tells the journeys of one. */
async function play({ world, ingressUrl: url = '', context }: LocalProduct): Promise<void> {
  const { terminal } = context;
  const webhookSecret = randomBytes(16).toString('hex');
  await configure(context, { connection: { id: connectionId, provider: 'github', config: { webhookSecret } }, routes });
  const names = routes.map(({ agentUid, name }) => `${agentUid}/${name}`);
  terminal.note(`Connection ${connectionId} joins GitHub to ${names.join(' and ')}.`);

  const outcomes = new Map<string, Decision[]>();
  const countOf = ({ eventId }: Sample): number => outcomes.get(eventId)?.length ?? 0;
  const stopWatching = await watchDecisions(world, (decision) => {
    const eventId = decision.about.providerEventId;
    if (eventId !== undefined) outcomes.set(eventId, [...(outcomes.get(eventId) ?? []), decision]);
  });
  const samples = githubSamples(connectionId, webhookSecret);
  const sample = samples.find(({ name }) => name === told);
  if (sample === undefined) throw new BusError('start-failed', { problem: `no sample ${told}` });
  terminal.note(`Sent ${samples.length} recorded payloads, signed: ${await sendAll(url, samples, context)}.`);
  await until(context, () => samples.every((each) => countOf(each) > 0));
  terminal.note(`Sent ${told} again, as GitHub does on a redelivery: ${await sendAll(url, [sample], context)}.`);
  terminal.note(`Sent ${told} with one byte changed: ${await sendAll(url, [tampered(sample)], context)}.`);
  await until(context, () => countOf(sample) >= deliveries * routes.length);
  await stopWatching();

  const rows = samples.map(({ name, eventId }) => [
    name,
    [...new Set((outcomes.get(eventId) ?? []).map(describe))].join(', '),
  ]);
  terminal.out(`\n${table(['payload', 'outcome'], rows, terminal.style)}\n`);
  terminal.out(`${await journeysOf(sample.eventId, context)}\n`);
}

const tampered = (sample: Sample): Sample => ({ ...sample, body: sample.body.replace('created', 'createD') });

const describe = ({ status, reason, about }: Decision): string => {
  const route = about.bindingName === undefined ? '' : ` (${about.agentUid}/${about.bindingName})`;
  return `${status}${status === 'accepted' || status === 'filtered' ? route : ''}${reason === undefined ? '' : `: ${reason}`}`;
};

/** Sends one after another, as one account of a provider does. */
async function sendAll(url: string, samples: readonly Sample[], { clock }: CommandContext): Promise<string> {
  const counts = new Map<number, number>();
  for (const sample of samples) {
    let status = await sendSample(url, sample, sendTimeoutMs);
    // The edge learns of a new connection through the log, a moment after it was stored.
    for (const started = clock.now(); status === 404 && clock.now() - started < patienceMs; ) {
      await clock.sleep(lookMs);
      status = await sendSample(url, sample, sendTimeoutMs);
    }
    counts.set(status, (counts.get(status) ?? 0) + 1);
  }
  return [...counts].map(([status, count]) => `${count} × ${status}`).join(', ');
}

/** The journeys of an event and its redelivery, once the journal knows both routes of each. */
async function journeysOf(eventId: string, context: CommandContext): Promise<string> {
  const world = await openJourneyWorld(context);
  const page = { style: context.terminal.style, now: context.clock.now() };
  let told: readonly JourneyReport[] = [];
  await until(context, async () => {
    const facts = await findDecided({ by: 'id', id: eventId }, world);
    const reports = await Promise.all(facts.map((fact) => walkJourney(fact, world)));
    told = reports.flatMap((report) => report ?? []).toSorted((a, b) => (a.startedAt ?? 0) - (b.startedAt ?? 0));
    const isWhole = (report: JourneyReport) => routes.every(({ name }) => showJourneys([report], page).includes(name));
    return told.length === deliveries && told.every(isWhole);
  });
  return showJourneys(told, page);
}

async function until({ clock }: CommandContext, done: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = clock.now() + patienceMs;
  while (!(await done())) {
    if (clock.now() > deadline) throw new BusError('start-failed', { problem: 'the outcomes did not come in time' });
    await clock.sleep(lookMs);
  }
}
