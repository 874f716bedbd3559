// POST /v1/directories/{id}/explain: what would become of an order, and which rule decides.
import type { CaaFinding } from '../core/caa.ts';
import {
  type ExplainedRule,
  type Explanation,
  explainedRules,
  explainOrder,
  type SupposedOrder,
} from '../core/explain.ts';
import { maxIdentifiers } from '../core/identifiers.ts';
import type { CaaAnswer, CaaRecord } from '../core/ports.ts';
import { challengeTypes } from '../lifecycles/challenge.ts';
import { leafKeyTypes } from '../resources/fields.ts';
import { closed, described, listOf, nullable, oneOf, type Static, Type } from '../schema/define.ts';
import { ipAddress, resourceId, timestamp } from '../schema/fragments.ts';
import { parseTimestamp } from '../schema/timestamp.ts';
import { plainBody } from './body.ts';
import { uuidOf } from './body-ids.ts';
import { type ApiRoute, ok, route } from './route.ts';
import { named } from './shapes.ts';

// What a zone holds has no bound of its own.
const RECORDS_SHOWN = 20;
const VALUE_SHOWN = 500;

const text = (maxLength: number, description: string, example: string) =>
  Type.Unsafe<string>({ type: 'string', minLength: 1, maxLength, description, examples: [example] });
const shown = (description: string, example: string) => Type.String({ description, examples: [example] });

// As an ACME client would send them: what an order would be refused for is explained, not refused.
const identifier = closed({
  type: text(40, 'Type of the identifier: dns or ip.', 'dns'),
  value: text(300, 'The DNS name or IP address.', 'shop.corp.example'),
});

const request = closed({
  identifiers: listOf(identifier, maxIdentifiers, { minItems: 1, description: 'What the order would ask for.' }),
  acme_key_id: Type.Optional(
    nullable(described(resourceId('acmk'), 'Account key that would order; else one validated by challenge.')),
  ),
  not_before: Type.Optional(nullable(described(timestamp, 'Begin that the order would ask for.'))),
  not_after: Type.Optional(nullable(described(timestamp, 'End that the order would ask for.'))),
  remote_ip: Type.Optional(nullable(described(ipAddress, 'Address of the client.'))),
  key_type: Type.Optional(
    nullable(oneOf(leafKeyTypes, { description: 'Type of the key that the certificate would have.' })),
  ),
  profile: Type.Optional(nullable(text(100, 'Profile that the order would ask for.', 'server'))),
});

const outcome = oneOf(['pass', 'fail', 'not_applicable'], { description: 'What the rule says.' });
const detail = shown('Why, in a sentence.', 'shop.corp.example matches **.corp.example.');

const rule = closed({
  rule: oneOf(explainedRules, { description: 'The rule.' }),
  outcome,
  detail,
  identifiers: Type.Unsafe<unknown>({
    type: ['array', 'null'],
    description: 'The verdict on each identifier, for rules that look at each by itself.',
    items: closed({
      type: shown('Its type.', 'dns'),
      value: shown('Its value.', 'shop.corp.example'),
      outcome,
      detail,
    }),
  }),
});

const record = closed({
  flags: Type.Integer({ description: 'The flags; 128 is critical.' }),
  tag: shown('The property.', 'issue'),
  value: shown('Its value.', 'ca.corp.example'),
});

const lookUp = closed({
  name: shown('The name that was asked for.', 'corp.example'),
  records: Type.Array(record, { description: `What stands there; at most ${RECORDS_SHOWN} are shown.` }),
  failure: nullable(shown('What came instead of an answer; null otherwise.', 'SERVFAIL')),
});

const caa = closed({
  name: shown('The DNS name.', 'shop.corp.example'),
  allowed: Type.Boolean({ description: 'Whether CAA allows the directory to issue for it.' }),
  validation_methods: Type.Array(oneOf(challengeTypes), { description: 'Those by which it would be allowed.' }),
  detail,
  looked_up: Type.Array(lookUp, { description: 'From the name upwards, up to the answer that decides.' }),
});

const explanation = named(
  'Explanation',
  closed({
    would_be_accepted: Type.Boolean({ description: 'Whether no rule fails.' }),
    rules: Type.Array(rule, { description: 'In the order in which they decide; the first that fails is told.' }),
    caa: Type.Array(caa, { description: 'One for each DNS name, where CAA is looked up.' }),
  }),
);

export const explainRoutes: readonly ApiRoute[] = [
  route({
    method: 'POST',
    path: '/v1/directories/:id/explain',
    operationId: 'explainOrder',
    tag: 'Directories',
    summary: 'Explain what would become of an order',
    description:
      'Changes nothing; causes DNS look-ups only. The rules are those that decide over orders. The body names no resource, so nothing is wrapped.',
    permission: 'write',
    params: { id: 'directory' },
    body: plainBody('ExplainRequest', request),
    replies: { 200: { description: 'Every rule with its verdict.', schema: explanation } },
    handle: async ({ ca, params: { id }, body, signal }) =>
      ok(render(await explainOrder(ca, id, supposedOrder(body), signal))),
  }),
];

const supposedOrder = (body: Static<typeof request>): SupposedOrder => ({
  identifiers: body.identifiers,
  acmeKeyId: body.acme_key_id ? uuidOf('acme_key', body.acme_key_id) : undefined,
  notBefore: dateOf(body.not_before),
  notAfter: dateOf(body.not_after),
  remoteIp: body.remote_ip ?? undefined,
  keyType: body.key_type ?? undefined,
  profile: body.profile ?? undefined,
});

const dateOf = (timestampText: string | null | undefined): Date | undefined =>
  timestampText ? parseTimestamp(timestampText) : undefined;

const render = ({ wouldBeAccepted, rules, caa: findings }: Explanation) => ({
  would_be_accepted: wouldBeAccepted,
  rules: rules.map(renderRule),
  caa: findings.map(renderFinding),
});

const renderRule = ({ rule: name, outcome: verdict, detail: sentence, identifiers }: ExplainedRule) => ({
  rule: name,
  outcome: verdict,
  detail: sentence,
  identifiers: identifiers?.map(({ identifier: asked, ...rest }) => ({ ...asked, ...rest })) ?? null,
});

const renderFinding = ({ identifier: { value }, verdict, allowedMethods, answers }: CaaFinding) => ({
  name: value,
  allowed: verdict.allowed,
  validation_methods: allowedMethods,
  detail: verdict.detail,
  looked_up: answers.map(renderAnswer),
});

const renderAnswer = (answer: CaaAnswer) =>
  'failure' in answer
    ? { name: answer.name, records: [], failure: answer.failure }
    : { name: answer.name, records: answer.records.slice(0, RECORDS_SHOWN).map(renderRecord), failure: null };

const renderRecord = ({ flags, tag, value }: CaaRecord) => ({ flags, tag, value: value.slice(0, VALUE_SHOWN) });
