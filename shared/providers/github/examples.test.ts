import { createRequire } from 'node:module';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { NormalizedFact } from '../../../schemas/normalized-fact.ts';
import { readBody } from '../../provider.ts';
import { Secret } from '../../secret.ts';
import { hmac } from '../../signature.ts';
import { provider } from './index.ts';

const Examples = z.array(z.object({ name: z.string(), examples: z.array(z.record(z.string(), z.unknown())) }));
const examples = Examples.parse(createRequire(import.meta.url)('@octokit/webhooks-examples')).flatMap((event) =>
  event.examples.map((body, index) => ({ event: event.name, eventId: `${event.name}-${index}`, body })),
);
const config = { webhookSecret: new Secret('mysecret') };

/** One example, signed and sent: through the edge and the normalizer. */
function send({ event, eventId, body }: (typeof examples)[number]) {
  const bytes = Buffer.from(JSON.stringify(body));
  const signature = hmac({ algorithm: 'sha256', key: config.webhookSecret, content: bytes, encoding: 'hex' });
  const headers = {
    'x-hub-signature-256': `sha256=${signature}`,
    'x-github-event': event,
    'x-github-delivery': eventId,
  };
  const request = { kind: 'events', connectionId: 'octo', headers, query: {}, body: bytes };
  const text = bytes.toString('utf8');
  return {
    verification: provider.verify(request, config, 0),
    identity: provider.identify(request, config),
    normalization: provider.normalize({ event, eventId, connectionId: 'octo', body: readBody(provider, text) }, config),
  };
}

/** The outcome of one example in a word, after everything that holds for all of them was checked. */
function outcomeOf(example: (typeof examples)[number]): string {
  const { verification, identity, normalization } = send(example);
  expect(verification).toEqual({ ok: true });
  expect(identity).toMatchObject({ eventId: example.eventId, event: example.event });
  if (normalization.type !== 'facts') return normalization.type;
  for (const fact of normalization.facts) {
    const ids = { connectionId: 'octo', provider: provider.name, sourceEventId: example.eventId, receivedAt: 1 };
    NormalizedFact.parse({ ...fact, ...ids });
    expect(identity?.signalChannelId).toBe(fact.signalChannelId);
  }
  return normalization.facts
    .map((fact) => {
      if (fact.type === 'entry_received') return fact.actorEventType;
      const [kind] = fact.sourceEntryId?.split(':') ?? [];
      return `${kind} ${fact.type === 'entry_lifecycle' ? fact.lifecycleKind : fact.type}`;
    })
    .join();
}

test('every example that GitHub publishes ends as facts or ignored, in these numbers', () => {
  const counts: Record<string, number> = {};
  for (const outcome of examples.map(outcomeOf)) counts[outcome] = (counts[outcome] ?? 0) + 1;
  expect(examples).toHaveLength(329);
  expect(counts).toEqual({
    'check_run action': 1,
    'discussion_comment removed': 1,
    'github.discussion_comment.created': 2,
    'github.discussion_comment.edited': 1,
    'github.issue.edited': 3,
    'github.issue.opened': 4,
    'github.issue_comment.created': 5,
    'github.issue_comment.edited': 2,
    'github.pull_request.opened': 4,
    'github.pull_request_review.submitted': 3,
    'github.pull_request_review_comment.created': 3,
    'github.pull_request_review_comment.edited': 1,
    ignored: 295,
    'issue removed': 1,
    'issue_comment removed': 2,
    'pull_request_review_comment removed': 1,
  });
});
