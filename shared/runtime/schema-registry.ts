/** What a frame's schema id turned out to be. */
export type SchemaLookup =
  | { readonly type: 'known'; readonly subject: string | undefined }
  | { readonly type: 'unknown' };

/** The schema registry, as narrow as the shell needs it. Failures are `BusError('infrastructure-unavailable')`. */
export interface SchemaRegistry {
  /** The id under which a topic's present schema is registered; undefined when it is not. */
  readonly idOf: (subject: string, schema: string) => Promise<number | undefined>;
  /** Whether an id exists. Known ids are remembered for ever, unknown ones for 30 s. */
  readonly lookUp: (id: number) => Promise<SchemaLookup>;
  /** Throws `schema-incompatible` where `register` would, and registers nothing. */
  readonly check: (subject: string, schema: string) => Promise<void>;
  /** Registers a schema and answers its id; throws `schema-incompatible` when it breaks readers of older records. */
  readonly register: (subject: string, schema: string) => Promise<number>;
}
