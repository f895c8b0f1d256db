import { existsSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import type { Environment } from '../parts.ts';

const patienceMs = 1_500;

/** Whether a Docker engine answers. Asked of the engine itself: that the program is installed says nothing. */
export async function engineAnswers(environment: Environment): Promise<boolean> {
  const answers = await Promise.all(sockets(environment).map(ping));
  return answers.includes(true);
}

/** The sockets of engines on this machine: the ports of an engine elsewhere are no loopback ports. */
function sockets({ DOCKER_HOST, HOME = '', XDG_RUNTIME_DIR = '' }: Environment): readonly string[] {
  if (DOCKER_HOST) return DOCKER_HOST.startsWith('unix://') ? [DOCKER_HOST.slice('unix://'.length)] : [];
  const usual = ['/var/run/docker.sock', join(HOME, '.docker/run/docker.sock'), join(XDG_RUNTIME_DIR, 'docker.sock')];
  return usual.filter((path) => existsSync(path));
}

function ping(socketPath: string): Promise<boolean> {
  return new Promise((resolve) => {
    const asked = request({ socketPath, path: '/_ping', timeout: patienceMs }, (response) => {
      response.resume();
      resolve(response.statusCode === 200);
    });
    asked.on('timeout', () => asked.destroy());
    // Refused, reset or late: it does not answer, which is what was asked.
    asked.on('error', () => resolve(false));
    asked.end();
  });
}
