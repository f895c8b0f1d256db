import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { NormalizedFact } from '../../../schemas/normalized-fact.ts';
import { Secret } from '../../secret.ts';
import { events } from './events.ts';
import { provider } from './index.ts';

const config = { webhookSecret: new Secret('mysecret') };
const normalize = (event: string | undefined, body: unknown) =>
  provider.normalize({ event, eventId: 'd1', connectionId: 'octo', body }, config);

const iris = { id: 1, login: 'iris', type: 'User' };
const repository = { full_name: 'octo/repo', private: true };
const issue = { id: 70, number: 7, title: 'Lamp', state: 'open', user: iris, body: 'It is dark.' };
const comment = { id: 71, user: iris, body: 'I see.', updated_at: '2031-02-28T06:00:00Z' };
const commented = { action: 'created', repository, sender: iris, issue, comment };

const channel = {
  kind: 'issue',
  replyMode: 'channel',
  name: 'octo/repo#7 Lamp',
  visibility: 'private',
  metadata: { githubKind: 'issue', repository: 'octo/repo', number: 7, state: 'open' },
};
const commentFact = {
  type: 'entry_received',
  signalChannelId: 'github:octo/repo#7',
  sourceEntryId: 'issue_comment:71',
  channel,
  author: { id: '1', displayName: 'iris', kind: 'user' },
  actorEventType: 'github.issue_comment.created',
  text: 'I see.',
  providerTime: Date.UTC(2031, 1, 28, 6),
};

describe('what is ignored', () => {
  test.each([
    ['push', {}, 'push'],
    ['star', { action: 'created' }, 'star.created'],
    ['star', { action: 'Not an action!' }, 'star'],
    ['check_run', { action: 'created' }, 'check_run.created'],
    ['issues', { action: 'transferred' }, 'issues.transferred'],
    ['issues', { action: 'labeled' }, 'issues.labeled'],
    ['pull_request', { action: 'synchronize' }, 'pull_request.synchronize'],
    ['pull_request_review', { action: 'dismissed' }, 'pull_request_review.dismissed'],
    ['constructor', {}, 'constructor'],
    ['no_event_of_today', null, 'no_event_of_today'],
  ])('%s with %o', (event, body, reason) => {
    expect(normalize(event, body)).toStrictEqual({ type: 'ignored', reason });
  });

  test('an edit of something other than title and text, such as the base branch', () => {
    const body = { action: 'edited', repository, pull_request: issue, changes: { base: { ref: { from: 'main' } } } };
    expect(normalize('pull_request', body)).toStrictEqual({ type: 'ignored', reason: 'pull_request.edited' });
  });
});

describe('what is invalid', () => {
  test.each([
    ['an event without a name', undefined, commented, ['event: missing']],
    ['a body that is no object', 'issues', 'text', ['action: invalid_format']],
    ['a body without an action', 'issues', { repository, issue }, ['action: invalid_format']],
    ['a body without a repository', 'issues', { action: 'opened', issue }, ['repository: invalid_type']],
    [
      'a body with members of other types',
      'issue_comment',
      { ...commented, comment: { id: 'x', body: 5, updated_at: 'yesterday' } },
      ['comment.id: invalid_type', 'comment.body: invalid_type', 'comment.updated_at: invalid_format'],
    ],
    [
      'a click on nothing',
      'check_run',
      { action: 'requested_action', repository, check_run: { id: 73, name: 'Lint' } },
      ['requested_action: invalid_type'],
    ],
    [
      'a repository that would name another channel',
      'issue_comment',
      { ...commented, repository: { full_name: 'octo/repo#1' } },
      ['repository.full_name: invalid_format'],
    ],
  ])('%s', (_, event, body, issues) => {
    expect(normalize(event, body)).toStrictEqual({ type: 'invalid', issues });
  });
});

describe('a written entry', () => {
  const factOf = (event: string, body: unknown) => {
    const normalization = normalize(event, body);
    return normalization.type === 'facts' ? normalization.facts : normalization;
  };

  test('has what the body states and nothing else', () => {
    expect(factOf('issue_comment', commented)).toStrictEqual([commentFact]);
  });

  test('has no text where the body is null or blank', () => {
    const { text: _, ...silent } = commentFact;
    for (const body of [null, undefined, '', ' \n']) {
      expect(factOf('issue_comment', { ...commented, comment: { ...comment, body } })).toStrictEqual([silent]);
    }
  });

  test('keeps its text to the character', () => {
    const body = '  indented\n\n';
    const fact = { ...commentFact, text: body };
    expect(factOf('issue_comment', { ...commented, comment: { ...comment, body } })).toStrictEqual([fact]);
  });

  test.each([
    ['a deleted account', { user: null }, { id: 'ghost', displayName: 'ghost', kind: 'unknown' }],
    [
      'a bot',
      { user: { id: 2, login: 'dependabot[bot]', type: 'Bot' } },
      { id: '2', displayName: 'dependabot[bot]', kind: 'bot' },
    ],
    [
      'an imported account',
      { user: { id: 3, login: 'old', type: 'Mannequin' } },
      { id: '3', displayName: 'old', kind: 'unknown' },
    ],
  ])('is by %s', (_, by, author) => {
    const body = { ...commented, sender: null, comment: { ...comment, ...by } };
    expect(factOf('issue_comment', body)).toStrictEqual([{ ...commentFact, author }]);
  });

  test('tells the app through which it was written', () => {
    const app = { performed_via_github_app: { id: 9, slug: 'lamp-app', owner: iris } };
    const told = { githubApp: { id: 9, slug: 'lamp-app' } };
    expect(factOf('issue_comment', { ...commented, comment: { ...comment, ...app } })).toStrictEqual([
      { ...commentFact, metadata: told },
    ]);
    expect(
      factOf('issue_comment', { ...commented, sender: null, comment: { ...comment, ...app, user: null } }),
    ).toStrictEqual([
      { ...commentFact, author: { id: 'app:9', displayName: 'lamp-app', kind: 'app' }, metadata: told },
    ]);
  });

  test('tells who edited it, where that is not its author', () => {
    const body = {
      ...commented,
      action: 'edited',
      sender: { id: 4, login: 'mo' },
      changes: { body: { from: 'I saw.' } },
    };
    expect(factOf('issue_comment', body)).toStrictEqual([
      {
        ...commentFact,
        actorEventType: 'github.issue_comment.edited',
        edited: true,
        metadata: { sender: { id: '4', login: 'mo' } },
      },
    ]);
  });

  test('is in the thread of the review comment that it answers', () => {
    const body = {
      ...commented,
      pull_request: issue,
      comment: { ...comment, in_reply_to_id: 60, path: 'a.ts', original_line: 3 },
    };
    expect(factOf('pull_request_review_comment', body)).toStrictEqual([
      {
        ...commentFact,
        sourceEntryId: 'pull_request_review_comment:71',
        channel: { ...channel, metadata: { ...channel.metadata, githubKind: 'pull_request' } },
        actorEventType: 'github.pull_request_review_comment.created',
        providerThreadId: '60',
        replyToSourceEntryId: 'pull_request_review_comment:60',
        metadata: { path: 'a.ts', line: 3 },
      },
    ]);
  });

  test('is in the channel of its discussion, which has entries to reply to', () => {
    const body = {
      action: 'created',
      repository,
      sender: iris,
      discussion: issue,
      comment: { ...comment, parent_id: 61 },
    };
    expect(factOf('discussion_comment', body)).toStrictEqual([
      {
        ...commentFact,
        signalChannelId: 'github:octo/repo/discussions/7',
        sourceEntryId: 'discussion_comment:71',
        channel: { ...channel, replyMode: 'entry', metadata: { ...channel.metadata, githubKind: 'discussion' } },
        actorEventType: 'github.discussion_comment.created',
        providerThreadId: '61',
        replyToSourceEntryId: 'discussion_comment:61',
      },
    ]);
  });

  test('has the time of the review, whose edits may have one of their own', () => {
    const review = { id: 72, user: iris, body: 'Good.', state: 'approved', submitted_at: '2031-02-28T06:00:00Z' };
    const body = { action: 'submitted', repository, sender: iris, pull_request: issue, review };
    const fact = {
      ...commentFact,
      sourceEntryId: 'pull_request_review:72',
      channel: { ...channel, metadata: { ...channel.metadata, githubKind: 'pull_request' } },
      actorEventType: 'github.pull_request_review.submitted',
      text: 'Good.',
      metadata: { reviewState: 'approved' },
    };
    expect(factOf('pull_request_review', body)).toStrictEqual([fact]);
    const edited = { ...body, action: 'edited', review: { ...review, updated_at: '2031-02-28T07:00:00+01:00' } };
    expect(factOf('pull_request_review', edited)).toStrictEqual([
      { ...fact, actorEventType: 'github.pull_request_review.edited', edited: true },
    ]);
  });
});

test('a removed entry tells who removed it, if anybody is named', () => {
  const removed = {
    type: 'entry_lifecycle',
    signalChannelId: 'github:octo/repo#7',
    sourceEntryId: 'issue_comment:71',
    channel,
    lifecycleKind: 'removed',
    providerLifecycleKind: 'deleted',
  };
  const body = { ...commented, action: 'deleted', comment: { ...comment, user: null }, sender: { id: 4, login: 'mo' } };
  expect(normalize('issue_comment', body)).toStrictEqual({
    type: 'facts',
    facts: [{ ...removed, actor: { id: '4', displayName: 'mo', kind: 'unknown' } }],
  });
  expect(normalize('issue_comment', { ...body, sender: null })).toStrictEqual({ type: 'facts', facts: [removed] });
});

test('a click on a check run is an action in the channel of its repository', () => {
  const click = {
    action: 'requested_action',
    repository,
    sender: iris,
    requested_action: { identifier: 'fix' },
    check_run: { id: 73, name: 'Lint', external_id: '', head_sha: 'abc', pull_requests: [{ number: 7 }] },
  };
  const fact = {
    type: 'action',
    signalChannelId: 'github:octo/repo',
    sourceEntryId: 'check_run:73',
    channel: {
      kind: 'unknown',
      name: 'octo/repo',
      visibility: 'private',
      metadata: { githubKind: 'repository', repository: 'octo/repo' },
    },
    actionId: 'fix',
    action: { identifier: 'fix', checkRun: { id: 73, name: 'Lint', headSha: 'abc', pullRequests: [7] } },
    actor: { id: '1', displayName: 'iris', kind: 'user' },
  };
  expect(normalize('check_run', click)).toStrictEqual({ type: 'facts', facts: [fact] });

  const { actor: _, ...anonymous } = fact;
  const bare = { ...click, sender: null, check_run: { id: 73, name: 'Lint' } };
  expect(normalize('check_run', bare)).toStrictEqual({
    type: 'facts',
    facts: [{ ...anonymous, action: { identifier: 'fix', checkRun: { id: 73, name: 'Lint' } } }],
  });
});

describe('any body', () => {
  const eventName = fc.constantFrom(...events.keys(), 'check_run', 'push', '__proto__');
  const ids = { connectionId: 'octo', provider: 'github', sourceEventId: 'd1', receivedAt: 1 };

  test('is normalized without a throw, and what comes of it fits the contract', () => {
    const odd = fc.oneof(
      fc.jsonValue(),
      fc.constantFrom(null, '', 0, -1, 1.5, '2031-02-28T06:00:00Z', iris, issue, comment),
    );
    const bodies = fc.record(
      {
        action: fc.constantFrom('opened', 'created', 'submitted', 'edited', 'deleted', 'requested_action', 'x', 7),
        requested_action: fc.oneof(fc.constant({ identifier: 'fix' }), odd),
        check_run: fc.oneof(fc.record({ ...constants({ id: 73, name: 'Lint' }), pull_requests: odd }), odd),
        repository: fc.oneof({ weight: 4, arbitrary: fc.constant(repository) }, odd),
        sender: fc.oneof(fc.constant(iris), odd),
        changes: odd,
        issue: fc.oneof(fc.record({ ...constants(issue), title: fc.string({ maxLength: 3_000 }), body: odd }), odd),
        pull_request: fc.oneof(fc.record({ ...constants(issue), html_url: odd, state: odd }), odd),
        discussion: fc.oneof(fc.constant(issue), odd),
        comment: fc.oneof(fc.record({ ...constants(comment), user: odd, html_url: odd, updated_at: odd }), odd),
        review: fc.oneof(fc.record({ ...constants(comment), state: odd, submitted_at: odd }), odd),
      },
      { requiredKeys: ['action'] },
    );
    fc.assert(
      fc.property(eventName, fc.oneof({ weight: 5, arbitrary: bodies }, odd), (event, body) => {
        const normalization = normalize(event, body);
        if (normalization.type !== 'facts') return;
        for (const fact of normalization.facts) NormalizedFact.parse({ ...fact, ...ids });
      }),
      { numRuns: 500 },
    );
  });

  const constants = <T extends Record<string, unknown>>(members: T) =>
    Object.fromEntries(Object.entries(members).map(([name, value]) => [name, fc.constant(value)]));
});
