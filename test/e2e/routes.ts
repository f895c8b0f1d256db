import { signalboxJson } from '../integration/signalbox.ts';
import type { Load } from './checker/check.ts';

const bugs = "signal.kind == 'entry_received' && signal.entry.text.contains('bug')";

/** A key that seals the secrets of connections, which every process of a run has to have. */
export const secretKeys = { SIGNALBOX_SECRET_KEYS: `k1:${Buffer.alloc(32, 7).toString('base64')}` };

/** Three bindings of two agents: two that everything passes, and one for bugs. */
export const threeRoutes = (mark: string): Load['routes'] => [
  { agentUid: `${mark}-a`, bindingName: 'all', passes: () => true },
  {
    agentUid: `${mark}-a`,
    bindingName: 'bugs',
    passes: ({ type, text }) => type === 'entry_received' && text?.includes('bug') === true,
  },
  { agentUid: `${mark}-b`, bindingName: 'all', passes: () => true },
];

/** Makes topics and schemas, a connection, and the bindings that lead from it to these routes. */
export async function configureRoutes(
  settings: Readonly<Record<string, string>>,
  connectionId: string,
  routes: Load['routes'],
): Promise<void> {
  const configured = { ...settings, ...secretKeys, HOOK: 'secret' };
  await signalboxJson(configured, 'migrate');
  const secret = ['--provider', 'github', '--secret', 'webhookSecret=env:HOOK'];
  await signalboxJson(configured, 'connections', 'put', connectionId, ...secret);
  for (const { agentUid, bindingName } of routes) {
    const filter = bindingName === 'bugs' ? ['--filter', bugs] : [];
    await signalboxJson(configured, 'bindings', 'put', agentUid, bindingName, '--connection', connectionId, ...filter);
  }
}
