import { describe, expect, test } from 'vitest';
import { ownershipOf } from '../../provider.ts';
import { deliveriesIn } from '../../testing/provider-fixtures.ts';
import { provider } from './index.ts';

const deliveries = new Map(
  deliveriesIn(new URL('./fixtures/', import.meta.url)).map((delivery) => [delivery.name, delivery.body]),
);

/** A recorded body whose sender, author and app are these; null stands for a deleted account. */
function bodyOf(name: string, from: { readonly sender: number; readonly user?: number | null; readonly app?: number }) {
  const recorded = deliveries.get(name) as Readonly<Record<string, object>>;
  const { sender, user = null, app } = from;
  const account = (id: number) => ({ id, login: `account-${id}`, type: 'Bot' });
  const written = {
    user: user === null ? null : account(user),
    ...(app !== undefined && { performed_via_github_app: { id: app, slug: 'lamp' } }),
  };
  const entries = ['comment', 'review', 'pull_request', 'issue'].filter((member) => recorded[member] !== undefined);
  const [entry] = entries;
  return {
    ...recorded,
    sender: account(sender),
    ...(entry !== undefined && { [entry]: { ...recorded[entry], ...written } }),
  };
}

const own = { ownAccountIds: ['5'], ownAppIds: ['9'] };

function verdict(event: string, body: unknown, ids: Parameters<typeof ownershipOf>[1] = own) {
  const received = { event, eventId: 'd1', connectionId: 'octo', body };
  const normalization = provider.normalize(received, { webhookSecret: undefined as never, ...ids });
  if (normalization.type !== 'facts') throw new Error(`no fact: ${JSON.stringify(normalization)}`);
  return normalization.facts.map((fact) => ownershipOf(provider.origin(fact, received), ids));
}

describe('our own account', () => {
  test.each([
    ['issue_comment', 'issue_comment_created'],
    ['issues', 'issues_opened'],
    ['pull_request', 'pull_request_opened'],
    ['pull_request_review', 'pull_request_review_submitted'],
    ['pull_request_review_comment', 'pull_request_review_comment_created'],
    ['discussion_comment', 'discussion_comment_created'],
  ])('writes what is our own: %s', (event, name) => {
    expect(verdict(event, bodyOf(name, { sender: 5, user: 5 }))).toStrictEqual(['own']);
    expect(verdict(event, bodyOf(name, { sender: 6, user: 6 }))).toStrictEqual(['other']);
  });

  test('clicks what is our own', () => {
    expect(verdict('check_run', bodyOf('check_run_requested_action', { sender: 5 }))).toStrictEqual(['own']);
    expect(verdict('check_run', bodyOf('check_run_requested_action', { sender: 6 }))).toStrictEqual(['other']);
  });

  test('changes what another wrote, and another changes what it wrote', () => {
    const edited = (sender: number, user: number) =>
      verdict('issue_comment', bodyOf('issue_comment_edited', { sender, user }));
    expect(edited(5, 5)).toStrictEqual(['own']);
    expect(edited(5, 6)).toStrictEqual(['changed']);
    expect(edited(6, 5)).toStrictEqual(['other']);
  });
});

describe('our own app', () => {
  const through = (from: Parameters<typeof bodyOf>[1], name = 'issue_comment_created') =>
    verdict('issue_comment', bodyOf(name, from), { ownAppIds: ['9'] });

  test('writes what is our own, whoever it writes as', () => {
    expect(through({ sender: 6, user: 6, app: 9 })).toStrictEqual(['own']);
    expect(through({ sender: 6, user: 6, app: 8 })).toStrictEqual(['other']);
    expect(through({ sender: 6, user: 6 })).toStrictEqual(['other']);
  });

  test('is not who changes what it wrote, where that is another account', () => {
    expect(through({ sender: 6, user: 6, app: 9 }, 'issue_comment_edited')).toStrictEqual(['own']);
    expect(through({ sender: 7, user: 6, app: 9 }, 'issue_comment_edited')).toStrictEqual(['other']);
  });
});

test('a connection that names nothing of its own has nothing of its own', () => {
  expect(verdict('issue_comment', bodyOf('issue_comment_created', { sender: 5, user: 5, app: 9 }), {})).toStrictEqual([
    'other',
  ]);
});

test('ids may be typed as numbers, as GitHub gives them', () => {
  const shown = provider.config.safeParse({ webhookSecret: 'mysecret', ownAccountIds: [5], ownAppIds: ['9'] });
  expect(shown.data).toMatchObject({ ownAccountIds: ['5'], ownAppIds: ['9'] });
});
