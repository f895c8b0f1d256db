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
