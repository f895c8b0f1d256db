import { z } from 'zod';
import type { NormalizedFact } from '../schemas/normalized-fact.ts';
import type { GroupMessageMode } from './group-message-mode.ts';

/** A webhook request as it came: raw bytes, header names in lower case, the first value of a repeated one. */
export interface WebhookRequest {
  readonly kind: string;
  /** The `:instanceId` of its URL: the connection that it was addressed to. */
  readonly connectionId: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

/** What a verified request is, as far as the edge needs it. */
export interface Identity {
  /** The provider's id of the event; a redelivery has the same one. */
  readonly eventId: string;
  /** The provider's name of the event. */
  readonly event: string;
  /** The channel, when the request names one: it orders the fact. */
  readonly signalChannelId?: string;
}

/** What the edge answers in the provider's stead without publishing anything. */
export interface Handshake {
  readonly status: number;
  readonly body?: Readonly<Record<string, unknown>> | string;
}

/** A verified event as the normalizer reads it. `body` is what `readBody` made of the raw fact's text. */
export interface ProviderEvent {
  readonly event: string | undefined;
  readonly eventId: string | undefined;
  readonly connectionId: string;
  readonly body: unknown;
}

/** A fact as a provider module makes it: the runtime adds the ids of the event, the connection and the receipt. */
export type ProviderFact = NormalizedFact extends infer F
  ? F extends NormalizedFact
    ? Omit<F, 'connectionId' | 'provider' | 'providerEventId' | 'sourceEventId' | 'receivedAt'>
    : never
  : never;

/**
 * What became of one event: facts, or nothing that concerns us and why, or a body that breaks the provider's own rules; of a
 * fact that an adapter of one's own sent, what is wrong by a code of its own.
 */
export type Normalization =
  | { readonly type: 'facts'; readonly facts: readonly ProviderFact[] }
  | { readonly type: 'ignored'; readonly reason: string }
  | { readonly type: 'invalid'; readonly issues: readonly string[] }
  | {
      readonly type: 'refused';
      readonly code:
        | ('invalid_ingress_attrs' | 'invalid_ingress_channel_attrs' | 'invalid_attachment_payload')
        | ('missing_required_text' | 'missing_session_id');
      /** Members and places, never values. */
      readonly details: Readonly<Record<string, string | number>>;
    };

/**
 * From whom an event came, by the provider's own ids: the account that acted, the one that the entry is of, and the app it was
 * written through. It tells our own messages from those of others; a text never does.
 */
export interface Origin {
  readonly by?: string | undefined;
  readonly writtenBy?: string | undefined;
  readonly app?: string | undefined;
}

const ids = z
  .array(z.union([z.string().min(1).max(200), z.int().nonnegative()]).transform(String))
  .max(50)
  .readonly();

/** Settings of every provider: by which ids at the provider a connection knows what we ourselves did there. */
export const ownIds = {
  ownAccountIds: ids.optional().describe('Ids of the accounts under which we write here: what they do wakes nobody.'),
  ownAppIds: ids.optional().describe('Ids of the apps through which we write here, under whatever account.'),
};

/** The ids of our own accounts and apps at a provider. */
export interface OwnIds {
  readonly ownAccountIds?: readonly string[] | undefined;
  readonly ownAppIds?: readonly string[] | undefined;
}

/**
 * Whose an event is: our own; a change of ours to what another wrote; or another's, be it on what we wrote. Under an account
 * that people use too, what was written through our app counts as ours, also when that account changes it.
 */
export function ownershipOf({ by, writtenBy, app }: Origin, own: OwnIds): 'own' | 'changed' | 'other' {
  const isOwn = (id: string | undefined, of: readonly string[] = []): boolean => id !== undefined && of.includes(id);
  const throughApp = isOwn(app, own.ownAppIds);
  const wroteIt = throughApp || isOwn(writtenBy, own.ownAccountIds);
  const acted = by === undefined ? wroteIt : isOwn(by, own.ownAccountIds) || (throughApp && by === writtenBy);
  if (!acted) return 'other';
  return wroteIt || writtenBy === undefined ? 'own' : 'changed';
}

/** The origin of a fact that itself says all there is to say of it. */
export function originIn(fact: ProviderFact): Origin {
  switch (fact.type) {
    case 'entry_received':
      return { by: fact.author.id, writtenBy: fact.author.id };
    case 'reaction':
      return { by: fact.actorKey };
    case 'entry_lifecycle':
    case 'action':
      return { by: fact.actor?.id };
  }
}

/** Why a request was refused before its body was read; for the log, never for the answer. */
export type Verification = { readonly ok: true } | { readonly ok: false; readonly reason: string };

/**
 * One provider. Everything here is pure: the edge does the HTTP, and `now` (epoch milliseconds) is a parameter.
 * `config` is a closed object; members made by `secret()` are sealed at rest and may have several values (rotation):
 * `verify` is tried with each.
 */
export interface Provider<Config = unknown> {
  /** Also the `:handlerId` of its webhook URL. */
  readonly name: string;
  readonly title: string;
  readonly config: z.ZodType<Config>;
  /** How it can take group messages that address nobody; absent: in every way. */
  readonly groupMessageModes?: readonly [GroupMessageMode, ...GroupMessageMode[]];
  /** The `:kind`s of its webhook URL. */
  readonly kinds: readonly [string, ...string[]];
  /** The headers kept with the raw fact, lower case. Credentials and signatures are not among them. */
  readonly keepHeaders: readonly string[];
  readonly verify: (request: WebhookRequest, config: Config, now: number) => Verification;
  /** Only after `verify`; undefined refuses a request that lacks what every real one has. */
  readonly identify: (request: WebhookRequest, config: Config) => Identity | undefined;
  readonly handshake?: (request: WebhookRequest, config: Config) => Handshake | undefined;
  /** The value in a body's text; undefined when there is none. Plain JSON unless a provider says otherwise. */
  readonly decode?: (text: string) => unknown;
  /** `config` without its secrets. */
  readonly normalize: (event: ProviderEvent, config: Config) => Normalization;
  /** From whom a fact of the event came. Asked where the connection names ids of our own. */
  readonly origin: (fact: ProviderFact, event: ProviderEvent) => Origin;
}

/** A provider whose configuration's type was forgotten, as the edge and the normalizer carry it. */
// Each of its functions is only given what its own `config` schema parsed, so the wider type is safe there.
// biome-ignore lint/suspicious/noExplicitAny: `Provider<unknown>` would refuse every real one, since Config is an input
export type AnyProvider = Provider<any>;

/** Declares a provider and gives it back unchanged, typed. */
export function defineProvider<Config>(provider: Provider<Config>): Provider<Config> {
  return provider;
}

/** The value of a JSON text, or undefined when it is none. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The value in the text of a raw fact's body, or undefined when the provider cannot read it. */
export const readBody = (provider: Pick<AnyProvider, 'decode'>, text: string): unknown =>
  (provider.decode ?? parseJson)(text);

/** What a body breaks, as `invalid` tells it: places and codes, never values. */
export const issuesOf = (error: z.ZodError): readonly string[] =>
  error.issues.map(({ path, code }) => `${path.join('.') || 'body'}: ${code}`);

/** The members that a payload states; null and undefined say nothing and are left out. */
export function stated<T extends object>(members: T): { [K in keyof T]?: NonNullable<T[K]> } {
  const kept = Object.entries(members).filter(([, value]) => value !== null && value !== undefined);
  // Only members without a value were taken out.
  return Object.fromEntries(kept) as { [K in keyof T]?: NonNullable<T[K]> };
}
