import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { acceptedFacts } from '../../schemas/accepted-fact.ts';
import { type Binding, bindingKey, bindings, Filters } from '../../schemas/binding.ts';
import { connections } from '../../schemas/connection.ts';
import { connectionStates } from '../../schemas/connection-state.ts';
import { ConnectionId } from '../../schemas/ids.ts';
import { exampleFact, type NormalizedFact, normalizedFacts } from '../../schemas/normalized-fact.ts';
import { checkFilter } from '../../shared/cel/filter.ts';
import { emit, outcome, reject } from '../../shared/stage/index.ts';
import { messagesOf, normalizedFact, someBindings, splits } from '../../shared/testing/arbitraries.ts';
import { fold } from '../../shared/testing/fold.ts';
import { spec } from '../../shared/testing/spec.ts';
import { stage } from './stage.ts';

const { given } = spec(stage);

const bindingOf = (members: Partial<Record<keyof Binding, unknown>> = {}): Binding =>
  bindings.value.parse({ ...bindings.example, filters: {}, ...members });
const factOf = (members: Record<string, unknown> = {}): NormalizedFact =>
  normalizedFacts.value.parse({ ...exampleFact, ...members });

const sick = connectionStates.example;
const { since, until } = sick;
const desk = bindingOf();
const about = { agentUid: 'iris', bindingName: 'desk' };
const accepted = (fact: NormalizedFact, binding: Binding = desk) =>
  emit(
    acceptedFacts,
    {
      type: 'fact.accepted',
      route: {
        agentUid: binding.agentUid,
        bindingName: binding.name,
        adapter: binding.adapter,
        unaddressedGroupMessagePolicy: binding.unaddressedGroupMessagePolicy,
      },
      fact,
    },
    bindingKey(binding),
  );
const broken = (reason: string, binding: Binding = desk) =>
  reject(
    'invalid_binding_filter',
    { reason },
    { part: bindingKey(binding), about: { agentUid: binding.agentUid, bindingName: binding.name } },
  );

describe('routes', () => {
  test('8: a rule that is unavailable refuses the fact and says why', () => {
    given({ bindings: [bindingOf({ unavailableReason: 'token revoked' })] })
      .when(exampleFact)
      .then(outcome('binding_unavailable', { reason: 'token revoked', about }));
  });

  test('9: a disabled rule refuses the fact, even where it is unavailable too', () => {
    given({ bindings: [bindingOf({ enabled: false, unavailableReason: 'token revoked' })] })
      .when(exampleFact)
      .then(outcome('binding_disabled', { about }));
  });

  test('10: without a rule of its connection a fact goes nowhere', () => {
    given({ bindings: [bindingOf({ connectionId: 'other' })] })
      .when(exampleFact)
      .then(outcome('binding_not_found'));
  });

  test('a rule for another provider than its connection has is unavailable', () => {
    given({ bindings: [bindingOf({ adapter: 'standard-webhooks' })] })
      .when(exampleFact)
      .then(
        outcome('binding_unavailable', {
          reason: 'the binding is for standard-webhooks, its connection is of github',
          about,
        }),
      );
  });

  test('8: a rule whose connection the system found unavailable refuses the fact, which can be redriven for it', () => {
    const lab = bindingOf({ name: 'lab', filters: { cel: "signal.channel.kind == 'im_dm'" } });
    const mended = bindingOf({ name: 'mended', updatedAt: since + 1 });
    const fact = factOf({ receivedAt: since });
    given({ bindings: [desk, lab, mended], connections: [connections.example], states: [sick] })
      .when(fact, { at: until - 1 })
      .then(
        reject('binding_unavailable', { reason: sick.unavailableReason }, { part: 'iris|desk', about }),
        outcome('filtered', { about: { ...about, bindingName: 'lab' } }),
        accepted(fact, mended),
      );
  });

  test('a fact passes that came before its connection was unavailable, when it is time to try, and when that is over', () => {
    const fact = factOf({ receivedAt: since });
    const passes = (members: { readonly fact?: NormalizedFact; readonly at?: number }, state = sick, saved = 0) =>
      given({ bindings: [desk], connections: [{ ...connections.example, updatedAt: saved }], states: [state] })
        .when(members.fact ?? fact, { at: members.at ?? since })
        .then(accepted(members.fact ?? fact));
    passes({ fact: factOf({ receivedAt: since - 1 }) });
    passes({ at: until });
    passes({}, { ...sick, unavailableReason: null });
    passes({}, { ...sick, connectionId: ConnectionId.parse('other') });
    passes({}, sick, since + 1);
  });

  test('a fact goes to each rule of its connection, and a broken rule keeps none of the others from it', () => {
    const lab = bindingOf({ name: 'lab', filters: { cel: 'signal.absent' } });
    const otto = bindingOf({ agentUid: 'otto', filters: { cel: "signal.channel.kind == 'im_dm'" } });
    given({ bindings: [otto, lab, desk] })
      .when(exampleFact)
      .then(
        accepted(exampleFact),
        broken('no_such_key at character 8: absent', lab),
        outcome('filtered', { about: { agentUid: 'otto', bindingName: 'desk' } }),
      );
  });

  test('what its rule says of edits goes on with the fact', () => {
    const quiet = bindingOf({ entryEditedEvents: false });
    const [effect] = given({ bindings: [quiet] })
      .when(exampleFact)
      .effects();
    expect(effect).toMatchObject({ value: { route: { bindingName: 'desk', entryEditedEvents: false } } });
  });

  test('a redriven part is decided for its rule alone', () => {
    const lab = bindingOf({ name: 'lab' });
    given({ bindings: [desk, lab] })
      .when(exampleFact, { part: 'iris|lab' })
      .then(accepted(exampleFact, lab));
    given({ bindings: [desk] })
      .when(exampleFact, { part: 'iris|lab' })
      .then(outcome('binding_not_found'));
  });
});

describe('filters', () => {
  const filtered = outcome('filtered', { about });
  const when = (cel: string, fact: NormalizedFact = exampleFact) =>
    given({ bindings: [bindingOf({ filters: { cel } })] }).when(fact);

  test('13: a fact of another channel than the filter names is filtered, and that is all', () => {
    when("signal.channel.id == 'chat:allowed'", factOf({ signalChannelId: 'chat:77' })).then(filtered);
  });

  test('14: a fact of the channel that the filter names goes on', () => {
    const fact = factOf({ signalChannelId: 'chat:allowed' });
    when("signal.channel.id == 'chat:allowed'", fact).then(accepted(fact));
  });

  test('15: prefix, pattern, substring and membership combine as in CEL', () => {
    const cel =
      "signal.channel.id.startsWith('github:') && signal.entry.text.matches('fix (this|that)') && " +
      "signal.entry.text.contains('today') && signal.entry.senderKey in ['21031067', '7']";
    when(cel).then(accepted(exampleFact));
    const other = factOf({ text: 'I will break this today.' });
    when(cel, other).then(filtered);
  });

  test('16: booleans and null keep their types', () => {
    const cel = 'signal.entry.explicit == false && signal.entry.threadId == null && signal.entry.mirrorOnly == true';
    const fact = factOf({ mirrorOnly: true });
    when(cel, fact).then(accepted(fact));
    when(cel, factOf({ mirrorOnly: true, providerThreadId: 'th-a' })).then(filtered);
  });

  test('17: a filter sees what an entry replies to', () => {
    const fact = factOf({ replyToSourceEntryId: 'e-parent' });
    when("signal.entry.replyToSourceEntryId == 'e-parent'", fact).then(accepted(fact));
  });

  test('18: a filter that reads an absent member is invalid, and nothing is written', () => {
    when("signal.entry.priority == 'high'").then(broken('no_such_key at character 14: priority'));
  });

  test('19: a filter of another shape than CEL cannot be saved', () => {
    expect(Filters.safeParse({ eq: { kind: 'entry_received' } }).success).toBe(false);
    expect(Filters.safeParse({}).success).toBe(true);
  });

  test('20: a blank or wrong expression cannot be saved', () => {
    expect(checkFilter('  ').ok).toBe(false);
    expect(checkFilter('signal.kind ==').ok).toBe(false);
    when('signal.kind ==').then(broken('unexpected_token at character 15: '));
  });

  test('21: an expression that gives a text can be saved, and fails when it runs', () => {
    expect(checkFilter('signal.kind')).toStrictEqual({ ok: true });
    when('signal.kind').then(broken('the filter gave something other than true or false'));
  });

  test('a filter that reads the text of a removal fails unless it asks for the kind first', () => {
    const removal = normalizedFacts.value.parse({
      ...exampleFact,
      type: 'entry_lifecycle',
      lifecycleKind: 'removed',
      providerLifecycleKind: 'deleted',
    });
    when("signal.entry.text.contains('fix')", removal).then(
      broken("no_matching_overload at character 1: signal.entry.text.contains('fix')"),
    );
    when("signal.kind == 'entry_received' && signal.entry.text.contains('fix')", removal).then(filtered);
    when("signal.lifecycle.kind == 'removed' && signal.lifecycle.providerKind == 'deleted'", removal).then(
      accepted(removal),
    );
  });

  test('instants are ISO texts', () => {
    when(
      "signal.gatewayTime == '2031-03-04T10:00:00.000Z' && signal.entry.providerTime == '2031-02-27T09:59:59.000Z'",
    ).then(accepted(exampleFact));
  });

  test('a filter that would take too long is invalid and not begun', () => {
    given({ bindings: [bindingOf({ filters: { cel: 'signal.channel.metadata.all(k, k == k)' } })] })
      .when(exampleFact, { settings: { maxWork: 100 } })
      .then(broken('the filter would take too long over a fact of this size'));
  });
});

test('on any split each fact has exactly one end on each of its rules, and a repeat the same one again', () => {
  fc.assert(
    fc.property(messagesOf(normalizedFact), someBindings, splits, (messages, table, sizes) => {
      const tables = { bindings: table };
      const whole = fold(stage, messages, { tables });
      expect(fold(stage, messages, { tables, splits: sizes })).toStrictEqual(whole);

      for (const { id, value } of messages) {
        const routes = table.filter((binding) => binding.connectionId === value.connectionId).map(bindingKey);
        const ends = whole.left.filter((each) => each.message === id).map(({ effect }) => effect);
        const routeOf = (end: (typeof ends)[number]) => {
          switch (end.do) {
            case 'emit':
              return end.name;
            case 'reject':
              return end.part;
            case 'outcome':
              return end.about === undefined ? 'none' : `${end.about.agentUid}|${end.about.bindingName}`;
          }
        };
        expect(ends.map(routeOf)).toStrictEqual(routes.length === 0 ? ['none'] : routes.sort());
      }

      const twice = fold(stage, [...messages, ...messages], { tables });
      expect(twice.left).toHaveLength(whole.left.length * 2);
    }),
  );
});
