import { SourceEntryId } from '../../../schemas/ids.ts';
import { issuesOf, type Normalization, stated } from '../../provider.ts';
import { authorOf, repositoryChannel, visibilityIn } from './facts.ts';
import { type Envelope, RequestedAction } from './payload.ts';

/** Somebody pressed a button that an app put on a check run: the one click that GitHub has. */
export function requestedAction(body: unknown, { repository, sender }: Envelope): Normalization {
  const parsed = RequestedAction.safeParse(body);
  if (!parsed.success) return { type: 'invalid', issues: issuesOf(parsed.error) };
  const { check_run: checkRun, requested_action: requested } = parsed.data;
  const pullRequests = checkRun.pull_requests?.map(({ number }) => number);
  return {
    type: 'facts',
    facts: [
      {
        type: 'action',
        // A check run is of a commit: it belongs to no pull request, or to several.
        signalChannelId: repositoryChannel(repository.full_name),
        sourceEntryId: SourceEntryId.parse(`check_run:${checkRun.id}`),
        channel: {
          kind: 'unknown',
          name: repository.full_name,
          ...stated({ visibility: visibilityIn(repository) }),
          metadata: { githubKind: 'repository', repository: repository.full_name },
        },
        actionId: requested.identifier,
        action: {
          identifier: requested.identifier,
          checkRun: {
            id: checkRun.id,
            name: checkRun.name,
            ...stated({
              headSha: checkRun.head_sha,
              externalId: checkRun.external_id || undefined,
              url: checkRun.html_url,
              pullRequests: pullRequests?.length ? pullRequests : undefined,
            }),
          },
        },
        ...stated({ actor: sender ? authorOf(sender) : undefined }),
      },
    ],
  };
}
