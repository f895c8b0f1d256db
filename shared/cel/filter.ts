import { type ASTNode, Environment, EvaluationError, ParseError, TypeError as TypeFault } from '@marcbachmann/cel-js';
import { RE2JS, RE2JSException } from 're2js';
import { BusError } from '../errors.ts';
import { examine, RefusedExpression, type Shape, workOf } from './guard.ts';

/** Whether a filter can be saved, and if not, why. */
export type FilterCheck = { readonly ok: true } | { readonly ok: false; readonly reason: string };

/** What a filter said of one fact. `reason` holds words of the filter's own text, never of the fact. */
export type FilterResult =
  | { readonly type: 'decided'; readonly passes: boolean }
  | { readonly type: 'failed'; readonly reason: string };

type Compiled =
  | { readonly ok: true; readonly shape: Shape; readonly run: (variables: Record<string, unknown>) => unknown }
  | { readonly ok: false; readonly reason: string };

const maxTextLength = 4_000;
const maxRemembered = 1_000;
const maxPatternLength = 500;
const maxProgramSize = 2_000;
const maxParts = 20;
const maxBrackets = 5;
const matchesInLinearTime = 'matchesInLinearTime';

const patterns = new Map<string, RE2JS>();
const compiledFilters = new Map<string, Compiled>();
const partsOfFilters = new Map<string, readonly string[]>();

const environment = new Environment({
  homogeneousAggregateLiterals: false,
  limits: { maxAstNodes: 2_000, maxDepth: 50, maxListElements: 500, maxMapEntries: 100, maxCallArguments: 10 },
})
  .registerVariable('binding', 'map')
  .registerVariable('signal', 'map')
  .registerFunction(`string.${matchesInLinearTime}(string): bool`, (text: string, pattern: string) =>
    remember(patterns, pattern, RE2JS.compile).test(text),
  );

/** Keeps the newest results of a pure function, as many as filters in use can need. */
function remember<V>(memo: Map<string, V>, key: string, make: (key: string) => V): V {
  const known = memo.get(key);
  if (known !== undefined) return known;
  const made = make(key);
  const oldest = memo.keys().next();
  if (memo.size >= maxRemembered && oldest.done !== true) memo.delete(oldest.value);
  memo.set(key, made);
  return made;
}

/** RE2 takes time in proportion to the text and to its program, which counted repeats make long. */
function weighPattern(pattern: string): number {
  if (pattern.length > maxPatternLength) throw new RefusedExpression('a pattern of matches is too long');
  const size = remember(patterns, pattern, RE2JS.compile).programSize();
  if (size > maxProgramSize) throw new RefusedExpression('a pattern of matches repeats too much');
  return size;
}

function compile(text: string): Compiled {
  if (text.trim() === '') return { ok: false, reason: 'the filter is blank' };
  if (text.length > maxTextLength)
    return { ok: false, reason: `the filter is longer than ${maxTextLength} characters` };
  try {
    const parsed = environment.parse(text);
    const shape = examine(parsed.ast, { functionName: matchesInLinearTime, weigh: weighPattern });
    const checked = parsed.check();
    if (checked.error !== undefined) return { ok: false, reason: reasonOf(checked.error, text) };
    return { ok: true, shape, run: (variables) => parsed(variables) };
  } catch (cause) {
    return { ok: false, reason: reasonOf(cause, text) };
  }
}

const compiledOf = (text: string): Compiled => remember(compiledFilters, text, compile);

function reasonOf(cause: unknown, text: string): string {
  if (cause instanceof RefusedExpression) return cause.reason;
  if (cause instanceof RE2JSException) return 'a pattern of matches is not a regular expression of RE2';
  if (cause instanceof ParseError || cause instanceof TypeFault || cause instanceof EvaluationError) {
    if (cause.range === undefined) return cause.code;
    const { start, end } = cause.range;
    return `${cause.code} at character ${start + 1}: ${text.slice(start, Math.min(end, start + 100))}`;
  }
  // Such as a stack that ran out: the fact goes on through the other bindings, and this one's author learns of it.
  return cause instanceof Error ? `the evaluator failed: ${cause.name}` : 'the evaluator failed';
}

/** Checks a filter's text for saving: it must be CEL over `binding` and `signal`, within the bounds. */
export function checkFilter(text: string): FilterCheck {
  const compiled = compiledOf(text);
  return compiled.ok ? { ok: true } : { ok: false, reason: compiled.reason };
}

/** Runs a filter over its two variables. The same text over the same values always gives the same result. */
export function runFilter(
  text: string,
  variables: { readonly binding: unknown; readonly signal: unknown },
  maxWork: number,
): FilterResult {
  const compiled = compiledOf(text);
  if (!compiled.ok) return { type: 'failed', reason: compiled.reason };
  if (workOf(compiled.shape, text.length, variables) > maxWork) {
    return { type: 'failed', reason: 'the filter would take too long over a fact of this size' };
  }
  try {
    const result = compiled.run(variables);
    if (typeof result === 'boolean') return { type: 'decided', passes: result };
    return { type: 'failed', reason: 'the filter gave something other than true or false' };
  } catch (cause) {
    return { type: 'failed', reason: reasonOf(cause, text) };
  }
}

/** A part of a filter and what it said alone. */
export interface ExplainedPart {
  readonly text: string;
  readonly result: FilterResult;
}

/** What a filter said of one fact, and what each of the parts said that `&&` or `||` joins at its top. */
export interface ExplainedFilter {
  readonly result: FilterResult;
  readonly parts: readonly ExplainedPart[];
}

/** The parts that `&&`, or `||`, joins at the top of a filter, as they are written; none where nothing is joined, or too many are. */
function partsOf(text: string): readonly string[] {
  if (!compiledOf(text).ok) return [];
  const { ast } = environment.parse(text);
  const { op } = ast;
  if (op !== '&&' && op !== '||') return [];
  const operands = (node: ASTNode): readonly ASTNode[] =>
    (node.op === '&&' || node.op === '||') && node.op === op ? node.args.flatMap(operands) : [node];
  const joined = operands(ast);
  return joined.length > maxParts ? [] : joined.map((node) => writtenText(node, text));
}

/** The text of a part. The parser leaves out brackets at either end of one, so they are taken in until it can be read. */
function writtenText({ range }: ASTNode, text: string): string {
  const starts = [range.start];
  for (let at = range.start - 1; /[\s(]/.test(text[at] ?? '') && starts.length < maxBrackets; at--) {
    if (text[at] === '(') starts.push(at);
  }
  const ends = [range.end];
  for (let at = range.end; /[\s)]/.test(text[at] ?? '') && ends.length < maxBrackets; at++) {
    if (text[at] === ')') ends.push(at + 1);
  }
  const candidates = starts.flatMap((start) => ends.map((end) => text.slice(start, end)));
  return candidates.find(canBeRead) ?? text.slice(range.start, range.end);
}

function canBeRead(text: string): boolean {
  try {
    environment.parse(text);
    return true;
  } catch (cause) {
    if (cause instanceof ParseError) return false;
    throw cause;
  }
}

/** Runs a filter as `runFilter` does, and each of its parts for itself. */
export function explainFilter(
  text: string,
  variables: { readonly binding: unknown; readonly signal: unknown },
  maxWork: number,
): ExplainedFilter {
  return {
    result: runFilter(text, variables, maxWork),
    parts: remember(partsOfFilters, text, partsOf).map((part) => ({
      text: part,
      result: runFilter(part, variables, maxWork),
    })),
  };
}

/** Throws `invalid_binding_filter` for a filter that cannot be saved. */
export function requireFilter(text: string | undefined): void {
  if (text === undefined) return;
  const checked = checkFilter(text);
  if (!checked.ok) throw new BusError('invalid_binding_filter', { reason: checked.reason });
}
