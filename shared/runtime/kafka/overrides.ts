/** The members of kafkajs's request queue that the override uses. */
export interface RequestQueue {
  throttleCheckTimeoutId: NodeJS.Timeout | null;
  throttledUntil: number;
  readonly pending: readonly unknown[];
  checkPendingRequests: () => void;
}

/** The class of kafkajs's request queue. */
export interface RequestQueueClass {
  readonly prototype: RequestQueue & { scheduleCheckPendingRequests: (this: RequestQueue) => void };
}

// As upstream waits for an answer to free a place.
const checkMs = 10;

/**
 * Looks at waiting requests only while there are any. Upstream starts the next timer when nothing waits, with a delay of
 * a millisecond, on each connection for ever: most of the CPU of an idle stage.
 */
export function overrideRequestQueue(queue: RequestQueueClass): void {
  queue.prototype.scheduleCheckPendingRequests = function schedule() {
    if (this.throttleCheckTimeoutId !== null || this.pending.length === 0) return;
    const throttledMs = this.throttledUntil - Date.now();
    this.throttleCheckTimeoutId = setTimeout(
      () => {
        this.throttleCheckTimeoutId = null;
        this.checkPendingRequests();
      },
      throttledMs > 0 ? throttledMs : checkMs,
    );
  };
}

/** The class of kafkajs's connection to one broker. */
export interface ConnectionClass {
  readonly prototype: { connect: (this: object) => Promise<unknown> };
}

/**
 * Connects once, however many ask at the same time. Upstream opens a socket for each, uses the last one before it is
 * there, and never closes the others; fetches that begin together on a new connection are enough.
 */
export function overrideConnection(connection: ConnectionClass): void {
  const connecting = new WeakMap<object, Promise<unknown>>();
  const { connect } = connection.prototype;
  connection.prototype.connect = function connectOnce() {
    const running = connecting.get(this);
    if (running !== undefined) return running;
    const attempt = connect.call(this).finally(() => connecting.delete(this));
    connecting.set(this, attempt);
    return attempt;
  };
}
