import { z } from 'zod';
import { fieldsOf } from '../../../shared/connection.ts';
import { defaultModeOf, GroupMessageMode, modesOf } from '../../../shared/group-message-mode.ts';
import { defineOperation } from '../world.ts';

const Field = z.object({
  name: z.string(),
  secret: z.boolean().describe('Whether it is sealed, and never shown again.'),
  required: z.boolean(),
  schema: z.record(z.string(), z.json()).describe('JSON Schema of its value; of a secret only that it is a text.'),
});

const Adapter = z.object({
  adapterId: z.string(),
  displayName: z.string(),
  kinds: z.array(z.string()).describe('The last parts of its webhook URLs.'),
  fields: z.array(Field).describe('The settings of a connection.'),
  groupMessageModeField: z.object({ options: z.array(GroupMessageMode), default: GroupMessageMode }),
});

export const listSignalAdapters = defineOperation({
  name: 'list-signal-adapters',
  summary: 'List the adapters that are built in, and the settings that each takes.',
  http: 'GET /signal-adapters',
  scope: 'adapters:read',
  reach: 'own',
  input: z.strictObject({}),
  output: z.object({ signalAdapters: z.array(Adapter) }),
  example: {},
  fails: [],

  async handle(_input, { adapters }) {
    const signalAdapters = [...adapters.values()].map((adapter) => ({
      adapterId: adapter.name,
      displayName: adapter.title,
      kinds: [...adapter.kinds],
      fields: [...fieldsOf(adapter)],
      groupMessageModeField: { options: [...modesOf(adapter)], default: defaultModeOf(adapter) },
    }));
    return { signalAdapters: signalAdapters.sort((a, b) => (a.adapterId < b.adapterId ? -1 : 1)) };
  },
});
