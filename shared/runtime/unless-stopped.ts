/** Waits for work until it ends or somebody stops; then rejects at once, and the work goes on for nobody. */
export async function unlessStopped<T>(stop: AbortSignal, work: Promise<T>): Promise<T> {
  const { promise: stopped, reject } = Promise.withResolvers<never>();
  const giveUp = (): void => reject(stop.reason);
  if (stop.aborted) giveUp();
  stop.addEventListener('abort', giveUp, { once: true });
  try {
    return await Promise.race([work, stopped]);
  } finally {
    stop.removeEventListener('abort', giveUp);
  }
}
