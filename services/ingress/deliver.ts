import type { Decision } from '../../schemas/decision.ts';
import type { RawProviderFact } from '../../schemas/raw-provider-fact.ts';
import { BusError, errors } from '../../shared/errors.ts';
import { faultOf } from '../../shared/runtime/fault.ts';
import type { Answer } from './answer.ts';
import type { Gate, Passed } from './gate.ts';
import type { Received } from './receive.ts';

/** The two ways in which the edge writes. Each resolves when the broker has the record, and rejects with a `BusError`. */
export interface Writes {
  readonly publish: (fact: RawProviderFact, traceparent?: string) => Promise<{ readonly partition: number }>;
  readonly decide: (decision: Decision) => Promise<unknown>;
}

/** Writes what a webhook is, and says what to answer: nothing good before the broker has it. */
export async function deliver(
  received: Received,
  { bytes, gate, publish, decide }: Writes & { readonly bytes: number; readonly gate: Gate },
): Promise<Answer> {
  switch (received.type) {
    case 'secret-missing':
      return { outcome: 'secret_missing', code: 'signature-invalid' };
    case 'refused':
      return { outcome: 'signature_invalid', code: 'signature-invalid', causedBy: received.reason };
    case 'unidentified':
      return { outcome: 'unidentified' };
    case 'handshake': {
      const passed = await gate.pass(bytes, () => decide(received.decision));
      if (passed.type !== 'sent') return unsent(passed);
      return { outcome: 'answered_handshake', ...received.handshake };
    }
    case 'fact': {
      const passed = await gate.pass(bytes, () => publish(received.fact));
      if (passed.type !== 'sent') return unsent(passed);
      return { outcome: 'published', partition: passed.value.partition, body: { id: received.fact.id } };
    }
  }
}

function unsent(passed: Exclude<Passed<unknown>, { readonly type: 'sent' }>): Answer {
  if (passed.type === 'full') return { outcome: 'overloaded' };
  if (passed.type === 'late') return { outcome: 'unpublished', code: 'infrastructure-unavailable' };
  const { error } = passed;
  // What trying again does not mend is a fault, of which an operator must hear.
  if (!(error instanceof BusError)) return { outcome: 'failed', ...faultOf(error) };
  if (error.code === 'record-too-large') return { outcome: 'body_too_large', code: error.code };
  return { outcome: errors[error.code].retry ? 'unpublished' : 'failed', ...faultOf(error) };
}
