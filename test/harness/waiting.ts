import { setTimeout as delay } from 'node:timers/promises';

const patienceMs = 120_000;
const askEveryMs = 50;
const wordEveryMs = 5_000;

/** How long ago something was, as people read it. */
export const since = (at: number): string => `${((Date.now() - at) / 1_000).toFixed(1)} s`;

/** Asks until a part answers, with a word now and then. Gives the reason why it never will, if it will not. */
export async function untilAnswers(options: {
  readonly title: string;
  answers(): Promise<boolean>;
  hasEnded?(): boolean;
  report(line: string): void;
}): Promise<{ readonly ready: true } | { readonly ready: false; readonly reason: string }> {
  const { title, answers, hasEnded = () => false, report } = options;
  const startedAt = Date.now();
  let lastWord = startedAt;
  while (!(await answers())) {
    if (hasEnded()) return { ready: false, reason: 'it ended' };
    if (Date.now() - startedAt > patienceMs) return { ready: false, reason: `no answer for ${since(startedAt)}` };
    if (Date.now() - lastWord > wordEveryMs) {
      lastWord = Date.now();
      report(`  ${title}: still starting, ${since(startedAt)} so far`);
    }
    await delay(askEveryMs);
  }
  // Whoever answered was another process if ours is gone.
  return hasEnded() ? { ready: false, reason: 'it ended' } : { ready: true };
}
