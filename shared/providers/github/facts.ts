import { SignalChannelId, SourceEntryId } from '../../../schemas/ids.ts';
import type { Author, ChannelFacts } from '../../../schemas/normalized-fact.ts';
import { type ProviderFact, stated } from '../../provider.ts';
import type { Reading } from './events.ts';
import { type Envelope, type User, Whereabouts } from './payload.ts';

/** The channel of an issue, a pull request or a discussion. The first two share one series of numbers. */
export const channelId = (repository: string, number: number, kind: Reading['channelKind']): SignalChannelId =>
  SignalChannelId.parse(`github:${repository}${kind === 'discussion' ? '/discussions/' : '#'}${number}`);

/** The channel of what belongs to a repository as a whole. No name of one holds the signs that the others have. */
export const repositoryChannel = (repository: string): SignalChannelId => SignalChannelId.parse(`github:${repository}`);

/** The channel that any event's body names, whatever the event: it orders what happens there. */
export function channelOf(body: unknown): SignalChannelId | undefined {
  const { data } = Whereabouts.safeParse(body);
  if (data === undefined) return undefined;
  const name = data.repository.full_name;
  if (data.discussion) return channelId(name, data.discussion.number, 'discussion');
  const numbered = data.pull_request ?? data.issue;
  if (numbered) return channelId(name, numbered.number, 'issue');
  return data.requested_action ? repositoryChannel(name) : undefined;
}

const authorKinds: ReadonlyMap<string, Author['kind']> = new Map([
  ['User', 'user'],
  ['Bot', 'bot'],
]);

/** An account as an author. */
export const authorOf = (user: User): Author => ({
  id: String(user.id),
  displayName: user.login,
  kind: authorKinds.get(user.type ?? '') ?? 'unknown',
  ...stated({ url: user.html_url }),
});

/** Who wrote it. A deleted account is null in the body; the provider's pages call it `ghost`. */
function writerOf({ user, performed_via_github_app: app }: Reading['entry']): Author {
  if (user) return authorOf(user);
  if (app) return { id: `app:${app.id}`, kind: 'app', ...stated({ displayName: app.slug }) };
  return { id: 'ghost', displayName: 'ghost', kind: 'unknown' };
}

function channelFacts({ repository }: Envelope, { channelKind, subject }: Reading): ChannelFacts {
  return {
    // The provider's own word is in `metadata.githubKind`: the kinds of channels are a closed set.
    kind: 'issue',
    // Of a channel, not of an entry: of all that a pull request holds only review comments can be replied to one by one.
    replyMode: channelKind === 'discussion' ? 'entry' : 'channel',
    name: `${repository.full_name}#${subject.number} ${subject.title}`.slice(0, 1_000),
    ...stated({ visibility: visibilityIn(repository) }),
    metadata: {
      githubKind: channelKind,
      repository: repository.full_name,
      number: subject.number,
      ...stated({ state: subject.state, url: subject.html_url }),
    },
  };
}

/** Who can see a repository; older bodies only say whether it is private. */
export const visibilityIn = ({ visibility, private: isPrivate }: Envelope['repository']) =>
  visibility ?? (isPrivate === true ? 'private' : isPrivate === false ? 'public' : undefined);

/** The fact that an event tells: its entry was written, or is gone. */
export function factOf(told: {
  readonly action: string;
  readonly envelope: Envelope;
  readonly reading: Reading;
}): ProviderFact {
  const { action, envelope, reading } = told;
  const { channelKind, subject, entryKind, entry, threadRoot } = reading;
  const about = {
    signalChannelId: channelId(envelope.repository.full_name, subject.number, channelKind),
    sourceEntryId: SourceEntryId.parse(`${entryKind}:${entry.id}`),
    channel: channelFacts(envelope, reading),
    ...stated({ providerThreadId: threadRoot === undefined ? undefined : String(threadRoot) }),
  };
  const { sender } = envelope;
  if (action === 'deleted') {
    return {
      type: 'entry_lifecycle',
      ...about,
      lifecycleKind: 'removed',
      providerLifecycleKind: action,
      ...stated({ actor: sender ? authorOf(sender) : undefined }),
    };
  }

  const author = writerOf(entry);
  const app = entry.performed_via_github_app;
  const isOther = sender && String(sender.id) !== author.id;
  const metadata = stated({
    ...reading.metadata,
    githubApp: app ? { id: app.id, ...stated({ slug: app.slug }) } : undefined,
    sender: isOther ? { id: String(sender.id), login: sender.login } : undefined,
  });
  return {
    type: 'entry_received',
    ...about,
    author,
    actorEventType: `github.${entryKind}.${action}`,
    ...(action === 'edited' && { edited: true }),
    ...stated({
      replyToSourceEntryId: isReply(reading) ? SourceEntryId.parse(`${entryKind}:${threadRoot}`) : undefined,
      title: reading.title,
      text: entry.body?.trim() ? entry.body : undefined,
      links: entry.html_url ? [{ url: entry.html_url }] : undefined,
      providerTime: reading.at,
      metadata: Object.keys(metadata).length > 0 ? metadata : undefined,
    }),
  };
}

const isReply = ({ threadRoot, entry }: Reading): boolean => threadRoot !== undefined && threadRoot !== entry.id;
