import { z } from 'zod';

/** An instant of the provider as epoch milliseconds. */
const Instant = z.iso
  .datetime({ offset: true })
  .transform((text) => Date.parse(text))
  .pipe(z.int().nonnegative());

const Id = z.int().nonnegative();
const Url = z.string().max(2_000);
const RepositoryName = z
  .string()
  .max(200)
  .regex(/^[\w.-]+\/[\w.-]+$/);

/** An account. Where one was deleted, null stands in its place. */
export const User = z.object({
  id: Id,
  login: z.string().min(1).max(200),
  type: z.string().nullish(),
  html_url: Url.nullish(),
});
export type User = z.infer<typeof User>;

const written = {
  id: Id,
  user: User.nullish(),
  html_url: Url.nullish(),
  body: z.string().nullish(),
  performed_via_github_app: z.object({ id: Id, slug: z.string().max(200).nullish() }).nullish(),
};

const Subject = z.object({
  number: z.int().positive(),
  title: z.string().max(2_000),
  state: z.string().max(64).nullish(),
  html_url: Url.nullish(),
});
export type Subject = z.infer<typeof Subject>;

const Issue = Subject.extend({ pull_request: z.looseObject({}).nullish() });
const Comment = z.object({ ...written, updated_at: Instant.nullish() });
export type Comment = z.infer<typeof Comment>;

/** What every event has that tells of one repository. */
export const Envelope = z.object({
  repository: z.object({
    full_name: RepositoryName,
    private: z.boolean().nullish(),
    visibility: z.string().max(64).nullish(),
  }),
  sender: User.nullish(),
  changes: z.record(z.string(), z.unknown()).nullish(),
});
export type Envelope = z.infer<typeof Envelope>;

/** The members by which an event of any name tells its channel. */
export const Whereabouts = z.object({
  repository: z.object({ full_name: RepositoryName }),
  issue: z.object({ number: z.int().positive() }).nullish(),
  pull_request: z.object({ number: z.int().positive() }).nullish(),
  discussion: z.object({ number: z.int().positive() }).nullish(),
  requested_action: z.looseObject({}).nullish(),
});

/** An issue was opened, edited, deleted or otherwise acted on. */
export const Issues = z.object({ issue: Issue.extend({ ...written, updated_at: Instant.nullish() }) });

/** A comment on an issue, or in the conversation of a pull request. */
export const IssueComment = z.object({ issue: Issue, comment: Comment });

/** A pull request was opened, edited or otherwise acted on. */
export const PullRequest = z.object({ pull_request: Subject.extend({ ...written, updated_at: Instant.nullish() }) });

/** A review of a pull request, as one verdict. */
export const PullRequestReview = z.object({
  pull_request: Subject,
  review: z.object({
    ...written,
    state: z.string().max(64).nullish(),
    submitted_at: Instant.nullish(),
    updated_at: Instant.nullish(),
  }),
});

/** A comment on a line of a pull request. */
export const PullRequestReviewComment = z.object({
  pull_request: Subject,
  comment: Comment.extend({
    path: z.string().max(4_000).nullish(),
    line: z.int().nullish(),
    original_line: z.int().nullish(),
    in_reply_to_id: Id.nullish(),
  }),
});

/** A comment in a discussion. */
export const DiscussionComment = z.object({
  discussion: Subject,
  comment: Comment.extend({ parent_id: Id.nullish() }),
});

/** A button of a check run, and the check run it is on. */
export const RequestedAction = z.object({
  requested_action: z.object({ identifier: z.string().min(1).max(300) }),
  check_run: z.object({
    id: Id,
    name: z.string().max(1_000),
    head_sha: z.string().max(100).nullish(),
    external_id: z.string().max(1_000).nullish(),
    html_url: Url.nullish(),
    pull_requests: z.array(z.object({ number: z.int().positive() })).nullish(),
  }),
});
