import { z } from 'zod';
import { BatchWindows } from '../../schemas/binding.ts';
import { stated } from '../../shared/provider.ts';
import { defaultWindows } from '../mirror-projector/batch/window.ts';

type Name = keyof BatchWindows;
type Window = (typeof BatchWindows.shape)[Name];

const since: Readonly<Record<Name, string>> = {
  addressedMs: 'after a message to the agent',
  addressedAttachmentsMs: 'after one to the agent with files',
  addressedLongTextMs: 'after a long one to the agent',
  neutralMs: 'after a message to nobody',
  neutralAttachmentsMs: 'after one to nobody with files',
  ambientMs: 'after one to nobody, where the agent may intervene',
  ambientMostMs: 'after the first of these, whatever else is said',
  pendingAttachmentMs: 'for a file that is still being downloaded, at most',
};

// An object's own keys, which its type names.
const names = Object.keys(since) as readonly Name[];

const windowsOf = <Member extends z.ZodType>(member: (window: Window, name: Name) => Member) =>
  z.strictObject(
    // One member for each name, which the type of entries forgets.
    Object.fromEntries(names.map((name) => [name, member(BatchWindows.shape[name], name)])) as Record<Name, Member>,
    { error: ({ code }) => (code === 'unrecognized_keys' ? `takes ${names.join(', ')}` : undefined) },
  );

const description = (name: Name): string => `Milliseconds ${since[name]}; ${defaultWindows[name]} by default.`;

/** Windows as a whole: those that are not given have their defaults. */
export const Windows = windowsOf((window, name) =>
  window.meta({ description: description(name), default: defaultWindows[name] }),
);

/** Windows to lay over the stored ones: null gives one its default back, and absence is no default here. */
export const WindowsPatch = windowsOf((window, name) =>
  window.unwrap().nullable().optional().describe(description(name)),
).nullable();
type WindowsPatch = z.infer<typeof WindowsPatch>;

/** A binding's windows after a patch; null takes all away. The default is never stored, so that a newer one holds. */
export function windowsAfter(
  stored: BatchWindows | undefined,
  patch: WindowsPatch | undefined,
): { readonly windows?: BatchWindows } {
  const windows = patch === null ? {} : stated({ ...stored, ...patch });
  return Object.keys(windows).length === 0 ? {} : { windows };
}
