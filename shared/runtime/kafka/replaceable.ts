/** A client that is connected on first use, and replaced after a failure, since nobody knows what it still waits for. */
export interface Replaceable<Client> {
  readonly use: <Result>(work: (client: Client) => Promise<Result>) => Promise<Result>;
  readonly close: () => Promise<void>;
}

/** Makes it; `isSound` tells the errors after which the client can go on. */
export function replaceable<Client>(options: {
  readonly connect: () => Promise<Client>;
  readonly disconnect: (client: Client) => Promise<void>;
  readonly isSound: (error: unknown) => boolean;
}): Replaceable<Client> {
  interface Holder {
    readonly client: Promise<Client>;
    users: number;
  }
  let current: Holder | undefined;

  /** Others may still wait for answers of a client that failed for one of them. */
  const dropIfUnused = async (holder: Holder): Promise<void> => {
    if (holder.users > 0 || holder === current) return;
    await options.disconnect(await holder.client);
  };

  return {
    async use(work) {
      current ??= { client: options.connect(), users: 0 };
      const holder = current;
      holder.users++;
      try {
        return await work(await holder.client);
      } catch (error) {
        if (holder === current && !options.isSound(error)) current = undefined;
        throw error;
      } finally {
        holder.users--;
        // What is dropped is broken already: how it ends tells nothing more.
        dropIfUnused(holder).catch(() => undefined);
      }
    },
    async close() {
      const holder = current;
      current = undefined;
      if (holder !== undefined) await options.disconnect(await holder.client);
    },
  };
}
