import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { provider } from '../../shared/providers/github/index.ts';
import { Secret } from '../../shared/secret.ts';

test("the comment of the README's first five minutes wakes somebody", () => {
  const body: unknown = JSON.parse(readFileSync(new URL('comment.json', import.meta.url), 'utf8'));
  const event = { event: 'issue_comment', eventId: 'first-comment', connectionId: 'octo', body };
  expect(provider.normalize(event, { webhookSecret: new Secret('unused') })).toMatchObject({
    type: 'facts',
    facts: [
      {
        signalChannelId: 'github:octo/repo#7',
        sourceEntryId: 'issue_comment:492700400',
        text: 'There is a bug in the third line.',
        actorEventType: 'github.issue_comment.created',
      },
    ],
  });
});
