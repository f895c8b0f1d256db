import { describe, expect, test } from 'vitest';
import { readBody } from '../../provider.ts';
import { Secret } from '../../secret.ts';
import { deliveriesIn, golden, type ProviderFixture } from '../../testing/provider-fixtures.ts';
import { provider } from './index.ts';

const folder = new URL('./fixtures/', import.meta.url);
const update = process.env.UPDATE_GOLDEN === '1';
const deliveries = deliveriesIn(folder);

/** What the edge and the normalizer get of one delivery. */
function outcomeOf({ request, body }: ProviderFixture) {
  const config = { webhookSecret: new Secret('mysecret') };
  const delivered = {
    kind: 'events',
    connectionId: 'octo',
    headers: { ...request.headers, 'x-github-delivery': '72d3162e-cc78-11e3-81ab-4c9367dc0958' },
    query: request.query,
    body: Buffer.from(JSON.stringify(body)),
  };
  const handshake = provider.handshake?.(delivered, config);
  const identity = provider.identify(delivered, config);
  const normalization = provider.normalize(
    {
      event: identity?.event,
      eventId: identity?.eventId,
      connectionId: 'octo',
      body: readBody(provider, delivered.body.toString('utf8')),
    },
    config,
  );
  return { ...(handshake !== undefined && { handshake }), identity, normalization };
}

/** The values of a fact that the anchors name, under their names. */
function anchoredIn({ handshake, normalization }: ReturnType<typeof outcomeOf>) {
  if (handshake !== undefined) return { fact: 'control', respond: { status: handshake.status } };
  if (normalization.type !== 'facts') return { fact: 'none' };
  const [fact] = normalization.facts;
  if (fact === undefined) return { fact: 'none' };
  const about = {
    channelId: fact.signalChannelId.replace('github:', ''),
    channelKind: fact.channel.metadata?.githubKind,
    entryId: fact.sourceEntryId,
    threadId: fact.providerThreadId,
  };
  if (fact.type === 'entry_lifecycle') return { ...about, fact: 'entry_removed', actorId: fact.actor?.id };
  if (fact.type === 'action') {
    return { ...about, fact: fact.type, actionId: fact.actionId, authorLogin: fact.actor?.displayName };
  }
  if (fact.type === 'reaction') return { ...about, fact: fact.type };
  return {
    ...about,
    fact: 'entry',
    authorId: fact.author.id,
    authorLogin: fact.author.displayName,
    authorKind: fact.author.kind,
    text: fact.text ?? null,
    title: fact.title,
    at: fact.providerTime,
    path: fact.metadata?.path,
    state: fact.metadata?.reviewState,
  };
}

/** The anchors as this provider tells them: an instant as a number, and no content of what is gone. */
function expectedOf({ anchors }: ProviderFixture) {
  const { fact, revision, kind, changed, why, dedupFrom, ...named } = anchors;
  if (fact === 'none') return { fact: 'none' };
  if (fact === 'control') return { fact, respond: named.respond };
  const { channelId, channelKind, entryId, actorId } = named;
  if (fact === 'entry_removed') return { fact, channelId, channelKind, entryId, actorId: actorId ?? named.authorId };
  const { actorId: _, ...entry } = named;
  return { fact, ...entry, ...(typeof revision === 'string' && { at: Date.parse(revision) }) };
}

describe('recorded deliveries', () => {
  test('there are fifteen of them', () => {
    expect(deliveries).toHaveLength(15);
  });

  test.each(deliveries)('$name gives what its anchors say', (delivery) => {
    expect(anchoredIn(outcomeOf(delivery))).toMatchObject(expectedOf(delivery));
  });

  test.each(deliveries)('$name becomes its golden facts', (delivery) => {
    const outcome = outcomeOf(delivery);
    expect(outcome).toStrictEqual(golden(new URL(`${delivery.name}.facts.json`, folder), outcome, { update }));
  });
});
