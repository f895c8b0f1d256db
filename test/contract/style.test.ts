import { describe, expect, test } from 'vitest';
import { filesBelow, type SourceFile, withoutComments } from './sources.ts';

const texts = filesBelow(
  '',
  /\.(?:ts|mjs|md|json|lua|sh|py|yml|svg)$|(?:^|\/)(?:Makefile|Dockerfile|\.ci\/run)$/,
).filter(({ path }) => path !== 'package-lock.json');
const code = texts.filter(({ path }) => /\.(?:ts|mjs)$/.test(path));
const paths = (files: readonly SourceFile[]): readonly string[] => files.map(({ path }) => path);
const nameOf = (path: string): string => path.split('/').at(-1) ?? path;

describe('names', () => {
  test('files and folders are in kebab-case', () => {
    const kebabCase = /^[a-z0-9]+(?:-[a-z0-9]+)*(?:\.[a-z0-9]+)*$/;
    const fits = (path: string): boolean => path.split('/').every((name) => kebabCase.test(name));
    expect(paths(code).filter((path) => !fits(path))).toEqual([]);
  });

  test('no file or folder has a name that says nothing', () => {
    const empty = /^(?:utils?|helpers?|common|managers?|data|infos?|misc|lib)$|-(?:utils?|helpers?|manager|data|info)$/;
    const says = (path: string): boolean => path.split('/').every((name) => !empty.test(name.replace(/\..*$/, '')));
    expect(paths(code).filter((path) => !says(path))).toEqual([]);
  });
});

describe('texts', () => {
  test('the README of a service is there and has at most 40 lines', () => {
    const services = [...new Set(code.flatMap(({ path }) => /^services\/([^/]+)\//.exec(path)?.[1] ?? []))];
    const lines = new Map(texts.map(({ path, text }) => [path, text.trimEnd().split('\n').length]));
    const tooLong = services.filter((service) => (lines.get(`services/${service}/README.md`) ?? Infinity) > 40);
    expect(tooLong).toEqual([]);
  });

  test('every provider has a README', () => {
    const folders = new Set(code.flatMap(({ path }) => /^shared\/providers\/[^/]+\//.exec(path)?.[0] ?? []));
    const missing = [...folders].filter((folder) => !paths(texts).includes(`${folder}README.md`));
    expect(missing).toEqual([]);
  });

  test('nothing names a path of one machine', () => {
    const machinePath = /(?:^|[\s"'`(=:])\/(?:work|home|root|Users)\/[\w.-]/;
    expect(paths(texts.filter(({ text }) => machinePath.test(text)))).toEqual([]);
  });

  test('links between our own pages lead somewhere', () => {
    const known = new Set(paths(filesBelow('', /./)));
    const broken = texts
      .filter(({ path }) => path.endsWith('.md'))
      .flatMap(({ path, text }) =>
        [...text.matchAll(/\]\((?!https?:|#|mailto:)([^)#\s]+)[^)]*\)/g)]
          .map(([, target = '']) => new URL(target, `file:///${path}`).pathname.slice(1).replace(/\/$/, ''))
          .filter((target) => !known.has(target) && ![...known].some((file) => file.startsWith(`${target}/`)))
          .map((target) => `${path} → ${target}`),
      );
    expect(broken).toEqual([]);
  });
});

describe('code', () => {
  test('nothing but a configuration has a default export', () => {
    const found = code.filter(({ text }) =>
      /^export default\b|^export \{[^}]*\bas default\b/m.test(withoutComments(text)),
    );
    expect(paths(found).filter((path) => !nameOf(path).endsWith('.config.ts'))).toEqual([]);
  });

  test('a note of something to do names an issue', () => {
    const loose = code.filter(({ text }) => /\b(?:TODO(?!\(#\d+\))|FIXME|XXX)\b/.test(text));
    expect(paths(loose).filter((path) => path !== 'test/contract/style.test.ts')).toEqual([]);
  });

  test('a test is neither skipped nor the only one', () => {
    const tests = code.filter(({ path }) => path.endsWith('.test.ts'));
    const bent = tests.filter(({ text }) => /\b(?:test|it|describe)\.(?:only|skip|todo)\(/.test(withoutComments(text)));
    expect(paths(bent)).toEqual([]);
  });

  test('exports of schemas and shared open with a sentence', () => {
    const documented = code.filter(({ path }) => /^(?:schemas|shared)\//.test(path) && !path.endsWith('.test.ts'));
    const bare = documented.flatMap(({ path, text }) =>
      [
        ...text.matchAll(
          /(?:^|\n)([^\n]*)\n(?:\/\/[^\n]*\n)*export (?:async )?(?:function\*?|const|class|interface|type) (\w+)/g,
        ),
      ]
        // A type of the same name stands below its schema, which has the sentence.
        .filter(([, before = '', name]) => !/\*\/\s*$/.test(before) && !text.includes(`z.infer<typeof ${name}>;`))
        .map(([, , name]) => `${path}: ${name}`),
    );
    expect(bare).toEqual([]);
  });
});
