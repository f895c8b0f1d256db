import type { EntryReceived } from '../../schemas/normalized-fact.ts';

/** A command as its event tells it. `targetActorEventId` is null where a target is named and not known. */
export interface Command {
  readonly name: 'new' | 'compress' | 'retry' | 'steer' | 'stop' | 'llm' | 'llm_help';
  /** The text as it was written. */
  readonly raw: string;
  readonly argsText: string;
  readonly modelProfile?: string;
  readonly targetActorEventId?: string | null;
}

/**
 * The command that an addressed entry is, if it is one: an ASCII slash, a known name, and the rest. A mention of the agent
 * may stand before it where the entry addresses the agent by itself.
 */
export function commandOf(fact: EntryReceived, explicit: boolean): Command | undefined {
  const raw = fact.text ?? '';
  const prefix = explicit ? (fact.commandPrefixes ?? []).find((each) => raw.startsWith(each)) : undefined;
  // Keyboards of some languages write digits and spaces in full width; a slash of that width is text.
  const text = raw
    .slice(prefix?.length ?? 0)
    .trimStart()
    .replaceAll('\u3000', ' ')
    .replaceAll(/[\uff10-\uff19]/g, (digit) => String.fromCharCode(digit.charCodeAt(0) - 0xfee0))
    .trimStart();
  const match = /^\/([^ \n\t]+)(.*)$/s.exec(text);
  const name = match?.[1]?.toLowerCase();
  const argsText = (match?.[2] ?? '').trimStart();
  switch (name) {
    case 'new':
    case 'compress':
    case 'steer':
    case 'stop':
      return { name, raw, argsText };
    case 'retry':
      // Nothing is known of replies yet, so what names one names one that is not known.
      return {
        name,
        raw,
        argsText,
        ...((argsText.trim() !== '' || fact.replyToSourceEntryId !== undefined) && { targetActorEventId: null }),
      };
    case 'llm':
      return llm(raw, argsText);
    default:
      return undefined;
  }
}

function llm(raw: string, argsText: string): Command {
  const [, profile, body = ''] = /^(\S+)(.*)$/s.exec(argsText) ?? [];
  if (profile === undefined) return { name: 'llm_help', raw, argsText };
  return { name: 'llm', raw, argsText: body.trim(), modelProfile: profile.toLowerCase() };
}
