import { z } from 'zod';
import { type ErrorCode, errors } from '../../../shared/errors.ts';
import { stages } from '../../index.ts';
import type { Letter } from './letter.ts';
import { parseMoment } from './moment.ts';

const words = <Word extends string>(all: Iterable<Word>) => {
  const [first, ...others] = [...all];
  if (first === undefined) throw new RangeError('no words to choose from');
  return z.enum([first, ...others]);
};
const moment = z.string().refine((text) => parseMoment(text, 0) !== undefined, {
  error: 'must be like 90s, 15m, 2h or 1d, or like 2026-12-01 or "2026-12-01 08:30", in UTC',
});

/** The options that choose among the dead letters. */
export const selectionOptions = {
  stage: words(stages.keys()).optional().describe('Only those of this stage.'),
  // The table's own keys.
  code: words(Object.keys(errors) as ErrorCode[])
    .optional()
    .meta({ description: 'Only those with this code of the error table.', placeholder: 'code' }),
  key: z.string().min(1).optional().meta({ description: 'Only those of records with this key: for facts, a channel.' }),
  since: moment
    .optional()
    .meta({ description: 'Only those rejected since then, or so long ago.', placeholder: 'when' }),
  until: moment.optional().meta({ description: 'Only those rejected before that.', placeholder: 'when' }),
};

/** What was typed of them. */
export type SelectionOptions = z.output<z.ZodObject<typeof selectionOptions>>;

/** Which letters are wanted. Instants are epoch milliseconds. */
export interface Selection {
  readonly since: number | undefined;
  readonly until: number | undefined;
  readonly fits: (letter: Letter) => boolean;
}

/** Whether anything was typed that narrows the choice. */
export const isNarrowed = ({ stage, code, key, since, until }: SelectionOptions): boolean =>
  [stage, code, key, since, until].some((each) => each !== undefined);

/** The choice that was typed, as of now. */
export function selectionOf(options: SelectionOptions, now: number): Selection {
  const { stage, code, key } = options;
  const [since, until] = [options.since, options.until].map((text) =>
    text === undefined ? undefined : parseMoment(text, now),
  );
  return {
    since,
    until,
    fits: (letter) =>
      (stage === undefined || letter.stage === stage) &&
      (code === undefined || letter.code === code) &&
      (key === undefined || letter.key === key) &&
      (since === undefined || letter.at >= since) &&
      (until === undefined || letter.at < until),
  };
}
