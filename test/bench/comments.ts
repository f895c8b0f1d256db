/** A raw fact as a publisher makes it, and the key that it is filed under. */
export interface Comment {
  readonly key: string;
  readonly fact: Readonly<Record<string, unknown>>;
}

const channels = 500;
const repository = { full_name: 'bench/facts', private: false };
const writtenAt = Date.parse('2031-02-28T06:00:00Z');

/** A small comment on one of 500 issues, as GitHub tells it: about 900 bytes. Each number gives another one. */
export function commentOf(number: number): Comment {
  const issue = 1 + (number % channels);
  const user = { id: 1 + (number % 50), login: `user-${1 + (number % 50)}`, type: 'User' };
  const key = `github:${repository.full_name}#${issue}`;
  const body = {
    action: 'created',
    repository,
    sender: user,
    issue: { number: issue, title: `Issue ${issue}: the parser stops`, state: 'open' },
    comment: {
      id: 1_000 + number,
      user,
      body: `There is a bug in the third line, and the fourth one looks odd too. This is fact ${number}.`,
      updated_at: new Date(writtenAt + number * 1_000).toISOString(),
      html_url: `https://github.com/${repository.full_name}/issues/${issue}#issuecomment-${1_000 + number}`,
    },
  };
  return {
    key,
    fact: {
      id: `raw-${number}`,
      provider: 'github',
      connectionId: 'bench',
      kind: 'direct',
      eventId: `event-${number}`,
      event: 'issue_comment',
      signalChannelId: key,
      receivedAt: writtenAt + number,
      body: JSON.stringify(body),
      bodyEncoding: 'utf-8',
    },
  };
}

/** The filter that all of them pass. */
export const filter = "signal.kind == 'entry_received' && signal.entry.text.contains('bug')";

/** The number of the comment that a record tells of, whatever it has become on its way. */
export function numberIn(value: Buffer): number | undefined {
  const found = /This is fact (\d+)\./.exec(value.toString('utf8'))?.[1];
  return found === undefined ? undefined : Number(found);
}
