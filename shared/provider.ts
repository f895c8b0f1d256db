import type { z } from 'zod';
import type { NormalizedFact } from '../schemas/normalized-fact.ts';

/** A webhook request as it came: raw bytes, header names in lower case, the first value of a repeated one. */
export interface WebhookRequest {
  readonly kind: string;
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

/** A verified event as the normalizer reads it. `body` is parsed JSON. */
export interface ProviderEvent {
  readonly event: string | undefined;
  readonly body: unknown;
}

/** A fact as a provider module makes it: the runtime adds the ids of the event, the connection and the receipt. */
export type ProviderFact = NormalizedFact extends infer F
  ? F extends NormalizedFact
    ? Omit<F, 'connectionId' | 'provider' | 'providerEventId' | 'sourceEventId' | 'receivedAt'>
    : never
  : never;

/** What became of one event: facts, or nothing that concerns us and why, or a body that breaks the provider's own rules. */
export type Normalization =
  | { readonly type: 'facts'; readonly facts: readonly ProviderFact[] }
  | { readonly type: 'ignored'; readonly reason: string }
  | { readonly type: 'invalid'; readonly issues: readonly string[] };

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
  /** The `:kind`s of its webhook URL. */
  readonly kinds: readonly [string, ...string[]];
  /** The headers kept with the raw fact, lower case. Credentials and signatures are not among them. */
  readonly keepHeaders: readonly string[];
  readonly verify: (request: WebhookRequest, config: Config, now: number) => Verification;
  /** Only after `verify`; undefined refuses a request that lacks what every real one has. */
  readonly identify: (request: WebhookRequest, config: Config) => Identity | undefined;
  readonly handshake?: (request: WebhookRequest, config: Config) => Handshake | undefined;
  /** `config` without its secrets. */
  readonly normalize: (event: ProviderEvent, config: Config) => Normalization;
}

/** Declares a provider and gives it back unchanged, typed. */
export function defineProvider<Config>(provider: Provider<Config>): Provider<Config> {
  return provider;
}
