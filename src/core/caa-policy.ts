// What CAA records say about one identifier (RFC 8659, RFC 8657): pure, over answers that somebody else looked up.
import { quoted } from '../schema/field-problem.ts';
import type { CaaAnswer, CaaRecord } from './ports.ts';

export type CaaRequest = {
  readonly identifier: { readonly value: string; readonly wildcard: boolean };
  /** From the name itself upwards, as `caaClimb` lists it; it may end at the first answer that is a failure or has records. */
  readonly answers: readonly CaaAnswer[];
  /** The domains that stand for this directory: its caa_tag. */
  readonly issuerDomains: readonly string[];
  /** The account's URL under every slug of the directory; empty where no account is given. */
  readonly accountUrls: readonly string[];
  readonly validationMethod: string;
  readonly onMissingCaa: 'pass' | 'fail';
};

export type CaaVerdict = {
  readonly allowed: boolean;
  readonly detail: string;
  /** The name whose answer decided, and the record, where one record did. */
  readonly decidedAt?: string;
  readonly record?: CaaRecord;
};

/** CAA-1: the names to look up, from the name to its top-level domain; a wildcard is asked for at its parent. */
export function caaClimb(name: string): readonly string[] {
  const labels = name.replace(/^\*\./, '').split('.');
  return labels.map((_, index) => labels.slice(index).join('.'));
}

/** Whether the directory may issue; forbids wherever the answers leave a doubt. */
export function decideCaa(request: CaaRequest): CaaVerdict {
  const { identifier, answers, onMissingCaa } = request;
  for (const answer of answers) {
    // CAA-10: a failure is not the absence of records.
    if ('failure' in answer) {
      return forbid(`CAA of ${answer.name} could not be looked up: ${answer.failure}.`, answer.name);
    }
    if (answer.records.length > 0) return decideRecords(request, answer.name, answer.records);
  }
  const missing = caaClimb(identifier.value).filter((name) => !answers.some((answer) => answer.name === name));
  if (missing.length > 0) return forbid(`CAA of ${missing[0]} was not looked up.`);
  return onMissingCaa === 'pass'
    ? {
        allowed: true,
        detail: `${identifier.value} and the domains above it have no CAA record, which the directory lets pass.`,
      }
    : forbid(`${identifier.value} and the domains above it have no CAA record, and the directory demands one.`);
}

const KNOWN_TAGS = new Set(['issue', 'issuewild', 'iodef', 'issuemail', 'issuevmc', 'contactemail', 'contactphone']);
/** CAA-4: bit 128 is "critical"; bit 1 is what people set who count bits from the other end. */
const CRITICAL = 128 | 1;

function decideRecords(request: CaaRequest, name: string, records: readonly CaaRecord[]): CaaVerdict {
  const { value, wildcard } = request.identifier;
  const unknown = records.find(({ flags, tag }) => (flags & CRITICAL) !== 0 && !KNOWN_TAGS.has(tag.toLowerCase()));
  if (unknown !== undefined) {
    return forbid(
      `CAA of ${name} has a critical record with the unknown tag ${quoted(unknown.tag, 30)}.`,
      name,
      unknown,
    );
  }
  const tagged = (tag: string) => records.filter((record) => record.tag.toLowerCase() === tag);
  // CAA-2: issuewild speaks for wildcards alone, and instead of issue.
  const wild = wildcard ? tagged('issuewild') : [];
  const relevant = wild.length > 0 ? wild : tagged('issue');
  if (relevant.length === 0)
    return { allowed: true, detail: `CAA of ${name} does not restrict issuers.`, decidedAt: name };
  const judged = relevant.map((record) => ({ record, objection: objectionOf(record, request) }));
  const granting = judged.find(({ objection }) => objection === undefined);
  if (granting !== undefined) {
    const { record } = granting;
    return { allowed: true, detail: `CAA of ${name} allows it: ${shown(record)}.`, decidedAt: name, record };
  }
  const reasons = judged.slice(0, 5).map(({ record, objection }) => `${shown(record)} ${objection}`);
  return forbid(
    `CAA of ${name} does not allow ${request.issuerDomains.join(' or ')} to issue for ${value}: ${reasons.join('; ')}.`,
    name,
    judged.length === 1 ? judged[0]?.record : undefined,
  );
}

/** Why a record does not grant; undefined when it does. */
function objectionOf(record: CaaRecord, request: CaaRequest): string | undefined {
  const property = parseIssueValue(record.value);
  if (property === undefined) return 'is malformed';
  if (property.domain === '') return 'names no issuer';
  if (!request.issuerDomains.some((domain) => domain.toLowerCase() === property.domain)) return 'names another issuer';
  const valuesOf = (tag: string) =>
    property.parameters.filter((parameter) => parameter.tag === tag).map(({ value }) => value);
  // CAA-7, CAA-8: a parameter that stands twice cannot be met.
  const accounts = valuesOf('accounturi');
  if (accounts.length > 1) return 'has more than one accounturi';
  if (accounts[0] !== undefined && !request.accountUrls.includes(accounts[0]))
    return request.accountUrls.length === 0 ? 'names an account, and none is given' : 'names another account';
  const methods = valuesOf('validationmethods');
  if (methods.length > 1) return 'has more than one validationmethods';
  if (methods[0] !== undefined && !methods[0].split(',').includes(request.validationMethod)) {
    return `does not allow validation by ${request.validationMethod}`;
  }
  return undefined;
}

export type IssueValue = {
  /** Lower case; empty where the value names no issuer. */
  readonly domain: string;
  readonly parameters: readonly { readonly tag: string; readonly value: string }[];
};

const DOMAIN = /^[a-z0-9]+(?:-+[a-z0-9]+)*(?:\.[a-z0-9]+(?:-+[a-z0-9]+)*)*$/i;
const PARAMETER = /^([a-z0-9]+(?:-+[a-z0-9]+)*)[ \t]*=[ \t]*([\x21-\x3a\x3c-\x7e]*)$/i;

/** RFC 8659 section 4.2: `[domain] [; tag=value ...]`; undefined for anything else, which authorises nobody (CAA-3). */
export function parseIssueValue(text: string): IssueValue | undefined {
  const [domainText = '', ...parameterTexts] = text.split(';').map(trimmed);
  if (domainText !== '' && !DOMAIN.test(domainText)) return undefined;
  const given = parameterTexts.length === 1 && parameterTexts[0] === '' ? [] : parameterTexts;
  const matches = given.map((part) => PARAMETER.exec(part));
  if (matches.includes(null)) return undefined;
  const parameters = matches.map((match) => ({ tag: match?.[1]?.toLowerCase() ?? '', value: match?.[2] ?? '' }));
  return { domain: domainText.toLowerCase(), parameters };
}

/** Without blanks at its ends, in linear time whatever a hostile zone holds. */
const trimmed = (part: string): string => /^[ \t]*([^ \t](?:.*[^ \t])?)?[ \t]*$/s.exec(part)?.[1] ?? '';

const shown = ({ tag, value }: CaaRecord): string => quoted(`${tag} ${value}`, 120);

const forbid = (detail: string, decidedAt?: string, record?: CaaRecord): CaaVerdict => ({
  allowed: false,
  detail,
  ...(decidedAt === undefined ? {} : { decidedAt }),
  ...(record === undefined ? {} : { record }),
});
