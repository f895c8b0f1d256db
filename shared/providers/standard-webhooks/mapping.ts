import { z } from 'zod';
import { ChannelKind, ReplyMode } from '../../../schemas/normalized-fact.ts';
import { Path, Template } from './template.ts';

/**
 * How a sender's JSON becomes facts; README.md has the defaults. Plain data: what was parsed once parses again to the same.
 */
export const Mapping = z
  .strictObject({
    channelId: Template.optional().describe('What it is about, within the connection. Default: one channel for all.'),
    channelKind: ChannelKind.extract(['webhook_endpoint', 'issue', 'alert_stream']).optional(),
    channelName: Template.optional(),
    replyMode: ReplyMode.optional(),
    entryId: Template.optional().describe('What stays the same in every revision. Default: the id of the webhook.'),
    eventType: Template.optional().describe('Default: {type}.'),
    title: Template.optional(),
    text: Template.optional().describe('Default: the whole body, as JSON.'),
    authorId: Template.optional().describe('Default: the connection.'),
    authorName: Template.optional(),
    providerTime: Path.optional().describe('Where its own time is, ISO 8601 or epoch. Default: timestamp.'),
    removedWhen: z
      .array(z.string().min(1).max(100))
      .max(20)
      .readonly()
      .optional()
      .describe('The event types that say that the entry is gone.'),
  })
  .refine(({ entryId, removedWhen }) => removedWhen === undefined || entryId !== undefined, {
    path: ['entryId'],
    error: 'removedWhen needs an entryId: the id of a webhook names no entry of an earlier one.',
  });
export type Mapping = z.infer<typeof Mapping>;
