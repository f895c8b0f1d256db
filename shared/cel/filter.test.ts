import { describe, expect, test } from 'vitest';
import { checkFilter, runFilter } from './filter.ts';

const plenty = 1_000_000_000;
const run = (text: string, signal: unknown, maxWork = plenty) =>
  runFilter(text, { binding: { name: 'desk', adapter: 'github' }, signal }, maxWork);
const decided = (passes: boolean) => ({ type: 'decided', passes });

describe('saving', () => {
  test.each([
    "signal.kind == 'entry_received'",
    "signal.entry.links.exists(link, link.url.startsWith('https://'))",
    'has(signal.entry.metadata.number) && signal.entry.metadata.number in [1, 2]',
    "signal.entry.text.matches('(?i)fix(es|ed)? #[0-9]+') ? true : binding.name == 'desk'",
  ])('takes %s', (text) => {
    expect(checkFilter(text)).toStrictEqual({ ok: true });
  });

  test.each([
    ['', 'the filter is blank'],
    ['   ', 'the filter is blank'],
    ['signal.kind ==', 'unexpected_token at character 15: '],
    ['other == 1', 'unknown_variable at character 1: other'],
    ["'a' && true", "invalid_logical_operand at character 1: 'a' && true"],
    ["signal.entry.text.split(',') == []", 'filters have no function split'],
    ['cel.bind(x, signal.kind, x == x)', 'filters have no function bind'],
    ['signal.entry.links.map(x, x.url + x.url) == []', '+ cannot be used inside a macro'],
    ['signal.kind.matches(signal.kind)', 'the pattern of matches must be written in the filter'],
    ["signal.kind.matches('(')", 'a pattern of matches is not a regular expression of RE2'],
    ["signal.kind.matches('(?=a)')", 'a pattern of matches is not a regular expression of RE2'],
    [`signal.kind.matches('${'x{1000}'.repeat(3)}')`, 'a pattern of matches repeats too much'],
    [`signal.kind.matches('${'x'.repeat(501)}')`, 'a pattern of matches is too long'],
    [`signal.kind == '${'x'.repeat(4_000)}'`, 'the filter is longer than 4000 characters'],
  ])('refuses %.60s', (text, reason) => {
    expect(checkFilter(text)).toStrictEqual({ ok: false, reason });
  });

  test('refuses what is nested too deep', () => {
    expect(checkFilter(`${'('.repeat(200)}true${')'.repeat(200)}`)).toMatchObject({ ok: false });
  });
});

describe('evaluating', () => {
  test.each([
    ['signal.a == null', { a: null }, true],
    ['signal.a == null', { a: 'x' }, false],
    ['signal.a == 3', { a: 3 }, true],
    ['signal.a > 2.5', { a: 3 }, true],
    ["signal.a in ['x', 'y']", { a: 'y' }, true],
    ["'x' in signal.a", { a: ['x'] }, true],
    ["'x' in signal.a", { a: { x: 1 } }, true],
    ['has(signal.b)', { a: 1 }, false],
    ['signal.a.all(n, n > 0) && signal.a.exists_one(n, n == 2)', { a: [1, 2] }, true],
    ['signal.a.filter(n, n > 1).size() == 1', { a: [1, 2] }, true],
    ['signal.a.map(n, n > 1) == [false, true]', { a: [1, 2] }, true],
    ["signal.a.startsWith('gi') && signal.a.endsWith('b') && signal.a.contains('th')", { a: 'github' }, true],
    ['size(signal.a) == 2', { a: '🚀é' }, true],
    ["signal.a.matches('^v[0-9]+$')", { a: 'v12' }, true],
    ["signal.a.matches('[0-9]')", { a: 'v12' }, true],
    ["timestamp(signal.a) > timestamp('2031-01-01T00:00:00Z')", { a: '2031-03-04T10:00:00.000Z' }, true],
    ['binding.name == "desk" && binding.adapter == "github"', {}, true],
  ])('%s over %j is %s', (text, signal, passes) => {
    expect(run(text, signal)).toStrictEqual(decided(passes));
  });

  test.each([
    ['signal.b == 1', 'no_such_key at character 8: b'],
    ["signal.a.contains('x')", "no_matching_overload at character 1: signal.a.contains('x')"],
    ['signal.a', 'the filter gave something other than true or false'],
    ['signal.constructor == 1', 'no_such_key at character 8: constructor'],
    ['signal.kind ==', 'unexpected_token at character 15: '],
  ])('%s fails', (text, reason) => {
    expect(run(text, { a: 1 })).toStrictEqual({ type: 'failed', reason });
  });

  test('a reason never tells what the fact says', () => {
    const result = run('bool(signal.a)', { a: 'the secret plan' });
    expect(result).toStrictEqual({ type: 'failed', reason: 'bool_conversion_error at character 1: bool(signal.a)' });
  });

  test('a pattern that makes other engines hang is answered at once', () => {
    const started = performance.now();
    expect(run("signal.a.matches('^(a+)+$')", { a: `${'a'.repeat(50_000)}!` })).toStrictEqual(decided(false));
    expect(performance.now() - started).toBeLessThan(2_000);
  });

  test('a filter whose macros multiply over a large fact is not begun', () => {
    const text = 'signal.a.all(x, signal.a.all(y, x != y || x == y))';
    const reason = 'the filter would take too long over a fact of this size';
    expect(run(text, { a: ['x', 'y'] })).toStrictEqual(decided(true));
    expect(run(text, { a: Array.from({ length: 10_000 }, String) })).toStrictEqual({ type: 'failed', reason });
    expect(run('signal.a == 1', { a: 1 }, 10)).toStrictEqual({ type: 'failed', reason });
  });

  test('more filters than are remembered give the same answers', () => {
    const texts = Array.from({ length: 1_100 }, (_, number) => `signal.a == ${number}`);
    const answers = [...texts, ...texts].map((text) => run(text, { a: 7 }));
    expect(answers.filter(({ type }) => type === 'decided')).toHaveLength(2_200);
    expect(answers.filter((answer) => answer.type === 'decided' && answer.passes)).toHaveLength(2);
  });
});
