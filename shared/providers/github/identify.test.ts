import { describe, expect, test } from 'vitest';
import { Secret } from '../../secret.ts';
import { provider } from './index.ts';

const config = { webhookSecret: new Secret('mysecret') };
const headers = { 'x-github-delivery': 'd1', 'x-github-event': 'issue_comment' };
const request = (given: Readonly<Record<string, string>>, body: string | Buffer = '{}') => ({
  kind: 'events',
  connectionId: 'octo',
  headers: given,
  query: {},
  body: Buffer.from(body),
});
const repository = { full_name: 'octo/repo' };

describe('the identity', () => {
  test.each([
    { about: 'no delivery id', given: { 'x-github-event': 'push' } },
    { about: 'no event', given: { 'x-github-delivery': 'd1' } },
    { about: 'an empty delivery id', given: { 'x-github-delivery': '', 'x-github-event': 'push' } },
    { about: 'an endless delivery id', given: { 'x-github-delivery': 'd'.repeat(201), 'x-github-event': 'push' } },
  ])('a request with $about is refused', ({ given }) => {
    expect(provider.identify(request(given), config)).toBeUndefined();
  });

  test.each([
    { about: 'an issue', body: { repository, issue: { number: 7 } }, id: 'github:octo/repo#7' },
    { about: 'a pull request', body: { repository, pull_request: { number: 8 } }, id: 'github:octo/repo#8' },
    { about: 'a discussion', body: { repository, discussion: { number: 9 } }, id: 'github:octo/repo/discussions/9' },
  ])('$about orders what is said of it', ({ body, id }) => {
    const json = JSON.stringify(body);
    const identity = { eventId: 'd1', event: 'issue_comment', signalChannelId: id };
    expect(provider.identify(request(headers, json), config)).toEqual(identity);
    const form = `payload=${encodeURIComponent(json)}`;
    expect(provider.identify(request(headers, form), config)).toEqual(identity);
    expect(provider.decode?.(form)).toEqual(body);
  });

  test.each([
    '',
    'null',
    '{"repository"',
    'payload=%7B',
    'payload=',
    '{"repository":{"full_name":"octo/repo"}}',
    '{"repository":{"full_name":"octo/repo"},"issue":{"number":"7"}}',
    '{"repository":{"full_name":"octo/re po#1"},"issue":{"number":7}}',
    Buffer.from([0xff, 0xfe, 0x00]),
  ])('a body that names no channel is still identified: %s', (body) => {
    expect(provider.identify(request(headers, body), config)).toEqual({ eventId: 'd1', event: 'issue_comment' });
  });
});

describe('the handshake', () => {
  test('a ping is answered, anything else goes on', () => {
    const ping = { 'x-github-delivery': 'd1', 'x-github-event': 'ping' };
    expect(provider.handshake?.(request(ping), config)).toEqual({ status: 200 });
    expect(provider.handshake?.(request(headers), config)).toBeUndefined();
  });
});
