import { existsSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { filesBelow, importsOf, root, type SourceFile, withoutComments } from './sources.ts';

const sources = ['schemas', 'shared', 'services', 'docs'].flatMap((folder) => filesBelow(folder, /\.ts$/));
const isTest = ({ path }: SourceFile): boolean => path.endsWith('.test.ts');
const code = sources.filter((file) => !isTest(file));
const isStageFolder = (path: string): boolean =>
  /^services\/[^/]+\//.test(path) && existsSync(new URL(`${path.split('/').slice(0, 2).join('/')}/stage.ts`, root));

/** One line of the import table: which files it speaks of, and what they may import beside their own folder and zod. */
interface Rule {
  readonly name: string;
  readonly of: (path: string) => boolean;
  readonly own: (path: string) => string;
  readonly may: readonly RegExp[];
}

const first = (path: string, folders: number): string => `${path.split('/').slice(0, folders).join('/')}/`;
const vocabulary = /^shared\/(?:stage\/[^/]+|[^/]+)\.ts$/;
const pureNode = /^node:(?:crypto|util|buffer)$/;
const schemas = /^schemas\//;

const rules: readonly Rule[] = [
  { name: 'schemas', of: (path) => path.startsWith('schemas/'), own: () => 'schemas/', may: [] },
  {
    name: 'the check of values',
    of: (path) => path === 'shared/safe-parse.ts',
    own: () => 'shared/safe-parse.ts',
    may: [/^ajv$/],
  },
  {
    name: 'the vocabulary in shared',
    of: (path) => vocabulary.test(path),
    own: () => 'shared/stage/',
    may: [schemas, vocabulary, pureNode],
  },
  {
    name: 'the list of providers',
    of: (path) => path === 'shared/providers/index.ts',
    own: () => 'shared/providers/',
    may: [/^shared\/provider\.ts$/],
  },
  {
    name: 'a provider',
    of: (path) => /^shared\/providers\/[^/]+\//.test(path),
    own: (path) => first(path, 3),
    may: [schemas, /^shared\/(?:instant|provider|secret|signature|signed-webhook)\.ts$/, pureNode],
  },
  {
    name: 'the language of filters',
    of: (path) => path.startsWith('shared/cel/'),
    own: () => 'shared/cel/',
    may: [vocabulary, /^@marcbachmann\/cel-js$/, /^re2js$/],
  },
  {
    // docs/decisions/0010: the command line and the API tell journeys.
    name: 'the reader of journeys',
    of: (path) => path.startsWith('shared/journey/'),
    own: () => 'shared/journey/',
    may: [schemas, /^shared\/(?!testing\/)/],
  },
  {
    name: 'a stage',
    of: isStageFolder,
    own: (path) => first(path, 2),
    may: [schemas, /^shared\/(?!runtime\/|testing\/)/, pureNode],
  },
  {
    name: 'the list of stages',
    of: (path) => path === 'services/index.ts',
    own: () => 'services/index.ts',
    may: [/^services\/[^/]+\/stage\.ts$/, /^shared\/stage\/index\.ts$/],
  },
  {
    name: 'the ingress',
    of: (path) => path.startsWith('services/ingress/'),
    own: (path) => first(path, 2),
    may: [schemas, /^shared\//, /^node:/, /^fastify$/],
  },
  {
    // docs/decisions/0010: it tries filters as the filter does, and tells which windows hold.
    name: 'the API',
    of: (path) => path.startsWith('services/api/'),
    own: (path) => first(path, 2),
    may: [
      schemas,
      /^shared\//,
      /^services\/filter\/trial\.ts$/,
      /^services\/mirror-projector\/batch\/window\.ts$/,
      /^node:/,
      /^fastify$/,
    ],
  },
  {
    // docs/decisions/0002: until there is an API, the command line talks to the log.
    name: 'the command line',
    of: (path) => path.startsWith('services/cli/'),
    own: (path) => first(path, 2),
    may: [
      schemas,
      /^shared\//,
      /^services\/index\.ts$/,
      /^services\/[^/]+\/(?:stage|config)\.ts$/,
      /^services\/filter\/trial\.ts$/,
      /^services\/mirror-projector\/batch\/window\.ts$/,
      /^services\/(?:ingress|api)\//,
      /^test\/harness\//,
      /^node:/,
      /^commander$/,
    ],
  },
];

const everything = (path: string): boolean => /^(?:shared\/(?:runtime|testing)|docs)\//.test(path);

/** The imports of a file that its rule does not allow. */
function trespasses(file: SourceFile): readonly string[] {
  const rule = rules.find(({ of }) => of(file.path));
  if (rule === undefined) return everything(file.path) ? [] : [`${file.path} lies in no folder of the import table`];
  return importsOf(file)
    .filter((target) => target !== 'zod' && !target.startsWith(rule.own(file.path)))
    .filter((target) => !rule.may.some((allowed) => allowed.test(target)))
    .map((target) => `${file.path} imports ${target}`);
}

/** The files whose code, comments aside, matches. */
const filesWith = (files: readonly SourceFile[], pattern: RegExp): readonly string[] =>
  files.filter(({ text }) => pattern.test(withoutComments(text))).map(({ path }) => path);

describe('imports', () => {
  test('the reader of imports sees every form of them', () => {
    const text = [
      "import 'side';",
      "import type { A } from './a.ts';",
      'import {\n  b,\n  c,\n} from "../other/b.ts";',
      "export * from './d.ts';",
      "const e = await import('@scope/e/deep');",
      "type F = import('node:fs').Stats;",
      "// import 'comment';",
    ].join('\n');
    expect([...importsOf({ path: 'x/y/z.ts', text })].sort()).toEqual(
      ['@scope/e', 'node:fs', 'side', 'x/other/b.ts', 'x/y/a.ts', 'x/y/d.ts'].sort(),
    );
  });

  test('a trespass is found', () => {
    const file = { path: 'schemas/x.ts', text: "import { BusError } from '../shared/errors.ts';\n" };
    expect(trespasses(file)).toEqual(['schemas/x.ts imports shared/errors.ts']);
  });

  test('every folder keeps to the import table', () => {
    expect(code.flatMap(trespasses)).toEqual([]);
  });

  test('modules are imported by a name that can be read', () => {
    const allowed = /^docs\/generators\/folders\.ts$/;
    const found = filesWith(code, /\bimport\((?!\s*['"])/);
    expect(found.filter((path) => !allowed.test(path))).toEqual([]);
  });

  test.each([
    'kafkajs',
    'ioredis',
    '@kafkajs/confluent-schema-registry',
    'prom-client',
    'pino',
    'commander',
    'ajv',
    '@node-rs/crc32',
    '@opentelemetry/api',
    '@opentelemetry/exporter-trace-otlp-http',
    '@opentelemetry/resources',
    '@opentelemetry/sdk-trace',
  ])('%s is named by one file', (name) => {
    expect(code.filter((file) => importsOf(file).includes(name)).map(({ path }) => path)).toHaveLength(1);
  });

  test('what sends spans is loaded on demand alone', () => {
    expect(filesWith(code, /\bimport\('\.\/collector\.ts'\)/)).toEqual(['shared/runtime/tracing/open-tracing.ts']);
    expect(filesWith(code, /\bfrom\s+['"][^'"]*\/collector\.ts['"]/)).toEqual([]);
  });

  test('fastify stays in what answers HTTP', () => {
    const found = code.filter((file) => importsOf(file).includes('fastify')).map(({ path }) => path);
    expect(found.filter((path) => !/^services\/(?:ingress|api)\//.test(path))).toEqual([]);
    expect(found).not.toEqual([]);
  });
});

describe('the world', () => {
  const pure = code.filter(({ path }) => /^schemas\/|^shared\/(?:stage|providers)\//.test(path) || isStageFolder(path));
  const world = [
    ['the clock', /\bDate\.now\b|\bnew Date\(\s*\)|\bDate\(\s*\)|\bperformance\b|\bhrtime\b/, 'new Date()'],
    ['randomness', /\bMath\.random\b|\brandom(?:UUID|Bytes|Int|FillSync|Fill)\b|\bgetRandomValues\b/, 'randomUUID()'],
    ['timers', /\bset(?:Timeout|Interval|Immediate)\b/, 'setTimeout(go, 1)'],
    ['the network', /\bfetch\(/, 'await fetch(url)'],
    ['the process', /\bprocess\./, 'process.env.HOME'],
  ] as const;

  test.each(world)('schemas, stages and providers leave %s alone', (_, pattern, sample) => {
    const offender = { path: 'offender.ts', text: `const made = ${sample};` };
    expect(filesWith([...pure, offender], pattern)).toEqual(['offender.ts']);
  });

  test('the environment is read in one file', () => {
    const product = code.filter(({ path }) => !path.startsWith('docs/'));
    expect(filesWith(product, /\bprocess\.env\b|\bprocess\[|\{[^}]*\benv\b[^}]*\}\s*=\s*process\b/)).toHaveLength(1);
  });

  test('nothing prints through the console', () => {
    expect(filesWith(code, /\bconsole\./)).toEqual([]);
  });
});
