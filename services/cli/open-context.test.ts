import { expect, test } from 'vitest';
import { BusError } from '../../shared/errors.ts';
import { systemClock } from '../../shared/runtime/clock.ts';
import { silentLog } from '../../shared/runtime/log.ts';
import { createEmbeddedInfrastructure } from '../../shared/runtime/memory/embedded.ts';
import { openContext } from './open-context.ts';
import { plain } from './style.ts';

test('what opens only after the command has failed is closed too', async () => {
  const infrastructure = createEmbeddedInfrastructure();
  const later = Promise.withResolvers<void>();
  const closed: string[] = [];
  const { context, close } = openContext({
    given: {},
    environment: () => ({}),
    terminal: {
      style: plain,
      noteStyle: plain,
      out: () => undefined,
      note: () => undefined,
      progress: () => undefined,
      confirm: async () => false,
      readSecret: async () => '',
    },
    clock: systemClock,
    log: silentLog,
    present: () => undefined,
    openPorts: () => ({
      bus: () => Promise.reject(new BusError('infrastructure-unavailable')),
      async store() {
        await later.promise;
        return { ...infrastructure.store(), close: async () => void closed.push('store') };
      },
      registry: async () => infrastructure.registry(),
    }),
  });
  await expect(Promise.all([context.bus(), context.store()])).rejects.toMatchObject({
    code: 'infrastructure-unavailable',
  });
  const closing = close();
  later.resolve();
  await closing;
  expect(closed).toEqual(['store']);
});
