import type { Offsets } from '../e2e/checker/log.ts';
import { githubFacts, type LoadRecord } from '../e2e/load.ts';

/** A part of a load, with channels of its own: what lies between these places of the log can be checked alone. */
export interface Chapter {
  readonly mark: string;
  readonly facts: number;
  readonly from: Offsets;
  /** Where the chapter after the next one begins, by when all of it is through; undefined for the last two. */
  readonly to: Offsets | undefined;
}

/** A load in chapters. */
export interface Chapters {
  /** The next facts, so many at most. */
  readonly take: (most: number) => Promise<readonly LoadRecord[]>;
  readonly all: () => readonly Chapter[];
}

const remembered = 1_000;

/** Makes a load without end of which no more than two chapters are under way at once. `ends` looks where the log ends. */
export function createChapters(options: {
  readonly mark: string;
  readonly connectionId: string;
  readonly channels: number;
  readonly seed: number;
  readonly factsEach: number;
  readonly ends: () => Promise<Offsets>;
}): Chapters {
  const { mark, factsEach, ends, seed, ...load } = options;
  const begun: { readonly mark: string; readonly from: Offsets; facts: number }[] = [];
  let facts: Generator<LoadRecord, never> | undefined;

  return {
    async take(most) {
      let chapter = begun.at(-1);
      if (facts === undefined || chapter === undefined || chapter.facts >= factsEach) {
        // As long as each other, so that no mark is a part of another one.
        chapter = { mark: `${mark}-c${String(begun.length).padStart(5, '0')}`, from: await ends(), facts: 0 };
        facts = githubFacts({ ...load, mark: chapter.mark, seed: seed + begun.length, remembered });
        begun.push(chapter);
      }
      const taken: LoadRecord[] = [];
      while (taken.length < most && chapter.facts < factsEach) {
        taken.push(facts.next().value);
        chapter.facts++;
      }
      return taken;
    },
    all: () => begun.map((chapter, index) => ({ ...chapter, to: begun[index + 2]?.from })),
  };
}
