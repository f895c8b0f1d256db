import type { z } from 'zod';
import { issuesOf } from '../../provider.ts';
import {
  type Comment,
  DiscussionComment,
  IssueComment,
  Issues,
  PullRequest,
  PullRequestReview,
  PullRequestReviewComment,
  type Subject,
} from './payload.ts';

/** What one event tells of a channel and of one entry in it. Absent members are not told. */
export interface Reading {
  readonly channelKind: 'issue' | 'pull_request' | 'discussion';
  readonly subject: Subject;
  readonly entryKind: string;
  readonly entry: Omit<Comment, 'updated_at'>;
  readonly at: number | null | undefined;
  readonly title?: string;
  /** The entry that opened the thread, where the provider has threads within a channel. */
  readonly threadRoot?: number;
  readonly metadata?: Readonly<Record<string, string | number | null | undefined>>;
}

/** One event of the provider: the actions that make facts, and how its body is read. */
export interface EventReader {
  readonly actions: readonly string[];
  readonly read: (
    body: unknown,
  ) => { readonly ok: true; readonly reading: Reading } | { readonly ok: false; readonly issues: readonly string[] };
}

const on = <Body>(schema: z.ZodType<Body>, actions: readonly string[], read: (body: Body) => Reading): EventReader => ({
  actions,
  read(body) {
    const parsed = schema.safeParse(body);
    return parsed.success ? { ok: true, reading: read(parsed.data) } : { ok: false, issues: issuesOf(parsed.error) };
  },
});

/** The events that make facts, by the name in `X-GitHub-Event`. All others are ignored. */
export const events: ReadonlyMap<string, EventReader> = new Map([
  [
    'issues',
    on(Issues, ['opened', 'edited', 'deleted'], ({ issue }) => ({
      channelKind: 'issue',
      subject: issue,
      entryKind: 'issue',
      entry: issue,
      at: issue.updated_at,
      title: issue.title,
    })),
  ],
  [
    'issue_comment',
    on(IssueComment, ['created', 'edited', 'deleted'], ({ issue, comment }) => ({
      // A pull request is an issue too: only this member tells them apart here.
      channelKind: issue.pull_request ? 'pull_request' : 'issue',
      subject: issue,
      entryKind: 'issue_comment',
      entry: comment,
      at: comment.updated_at,
    })),
  ],
  [
    'pull_request',
    on(PullRequest, ['opened', 'edited'], ({ pull_request }) => ({
      channelKind: 'pull_request',
      subject: pull_request,
      entryKind: 'pull_request',
      entry: pull_request,
      at: pull_request.updated_at,
      title: pull_request.title,
    })),
  ],
  [
    'pull_request_review',
    on(PullRequestReview, ['submitted', 'edited'], ({ pull_request, review }) => ({
      channelKind: 'pull_request',
      subject: pull_request,
      entryKind: 'pull_request_review',
      entry: review,
      at: review.updated_at ?? review.submitted_at,
      metadata: { reviewState: review.state },
    })),
  ],
  [
    'pull_request_review_comment',
    on(PullRequestReviewComment, ['created', 'edited', 'deleted'], ({ pull_request, comment }) => ({
      channelKind: 'pull_request',
      subject: pull_request,
      entryKind: 'pull_request_review_comment',
      entry: comment,
      at: comment.updated_at,
      threadRoot: comment.in_reply_to_id ?? comment.id,
      metadata: { path: comment.path, line: comment.line ?? comment.original_line },
    })),
  ],
  [
    'discussion_comment',
    on(DiscussionComment, ['created', 'edited', 'deleted'], ({ discussion, comment }) => ({
      channelKind: 'discussion',
      subject: discussion,
      entryKind: 'discussion_comment',
      entry: comment,
      at: comment.updated_at,
      threadRoot: comment.parent_id ?? comment.id,
    })),
  ],
]);
