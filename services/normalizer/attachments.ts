import type { Attachment, NormalizedFact } from '../../schemas/normalized-fact.ts';

const isReachable = (attachment: Attachment): boolean =>
  [
    attachment.providerRef,
    attachment.providerFileId,
    attachment.providerUri,
    attachment.blobRef,
    attachment.storageRef,
    attachment.agentComputerPath,
    attachment.filePath,
  ].some((reference) => reference !== undefined && reference.trim() !== '');

/** The place of the first attachment whose bytes nobody could find later; undefined when there is none. */
export function unreachableAttachment(fact: NormalizedFact): number | undefined {
  const attachments = fact.type === 'entry_received' ? (fact.attachments ?? []) : [];
  const place = attachments.findIndex((attachment) => !isReachable(attachment));
  return place === -1 ? undefined : place;
}
