/** How a send through the gate ended. `late`: its time is over and the send goes on. */
export type Passed<T> =
  | { readonly type: 'sent'; readonly value: T }
  | { readonly type: 'full' }
  | { readonly type: 'late' }
  | { readonly type: 'failed'; readonly error: unknown };

/** Bounds what waits for the broker, and how long a sender waits for it. */
export interface Gate {
  readonly pass: <T>(bytes: number, send: () => Promise<T>) => Promise<Passed<T>>;
}

/** Makes a gate. What is late still counts as waiting until it ends; `onLateFailure` hears of one that then fails. */
export function createGate(options: {
  readonly maxPending: number;
  readonly maxPendingBytes: number;
  readonly timeoutMs: number;
  readonly onLateFailure: (error: unknown) => void;
}): Gate {
  let pending = 0;
  let pendingBytes = 0;

  return {
    async pass<T>(bytes: number, send: () => Promise<T>): Promise<Passed<T>> {
      if (pending >= options.maxPending || pendingBytes + bytes > options.maxPendingBytes) return { type: 'full' };
      pending += 1;
      pendingBytes += bytes;
      const attempt = async (): Promise<Passed<T>> => {
        try {
          return { type: 'sent', value: await send() };
        } catch (error) {
          return { type: 'failed', error };
        } finally {
          pending -= 1;
          pendingBytes -= bytes;
        }
      };
      let late = false;
      let timer: NodeJS.Timeout | undefined;
      const timeout = new Promise<Passed<T>>((resolve) => {
        timer = setTimeout(() => {
          late = true;
          resolve({ type: 'late' });
        }, options.timeoutMs);
      });
      const sending = attempt().then((passed) => {
        clearTimeout(timer);
        if (late && passed.type === 'failed') options.onLateFailure(passed.error);
        return passed;
      });
      return Promise.race([sending, timeout]);
    },
  };
}
