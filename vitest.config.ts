import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'pure',
          sequence: { groupOrder: 0 },
          include: [
            'schemas/**/*.test.ts',
            'shared/**/*.test.ts',
            'services/**/*.test.ts',
            'test/contract/**/*.test.ts',
            'test/{soak,takeover,rebuild-under-flow,conversations-load}/**/*.test.ts',
            'docs/**/*.test.ts',
          ],
          exclude: ['**/*.int.test.ts', '**/node_modules/**'],
        },
      },
      {
        test: {
          name: 'simulation',
          // One group after another: each takes the whole machine, and what waits for real time should have it.
          sequence: { groupOrder: 1 },
          include: ['test/simulation/**/*.test.ts'],
          testTimeout: 300_000,
        },
      },
      {
        test: {
          name: 'integration',
          sequence: { groupOrder: 2 },
          include: ['test/**/*.int.test.ts'],
          fileParallelism: false,
          testTimeout: 120_000,
          hookTimeout: 180_000,
          globalSetup: ['test/harness/vitest-setup.ts'],
        },
      },
      {
        test: {
          name: 'chaos',
          sequence: { groupOrder: 3 },
          include: ['test/chaos/**/*.chaos.test.ts'],
          fileParallelism: false,
          testTimeout: 300_000,
          hookTimeout: 180_000,
        },
      },
    ],
  },
});
