// The small schemas that fields are made of. Patterns use only what RE2 and JavaScript read alike; all strings have bounds.
import { listOf, Type } from './define.ts';
import type { FormatName } from './formats.ts';

const text = (format: FormatName, bounds: { minLength?: number; maxLength: number; pattern?: string }) =>
  Type.Unsafe<string>({ type: 'string', minLength: 1, ...bounds, format });

const LABEL = '[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?';
const NAME = `${LABEL}(\\.${LABEL})*`;

export const objectName = text('object-name', { maxLength: 200, pattern: '^[^\\x00-\\x1f\\x7f-\\x9f]+$' });
export const slug = text('slug', { maxLength: 63, pattern: '^[a-z0-9]([a-z0-9-]*[a-z0-9])?$' });
export const keyId = text('key-id', { maxLength: 128, pattern: '^[A-Za-z0-9._-]+$' });
export const dnsName = text('dns-name', { maxLength: 253, pattern: `^${NAME}$` });
/** A name and all below it; with a leading dot, as imported certificates have it, only what is below. */
export const dnsSubtree = text('dns-subtree', { maxLength: 254, pattern: `^\\.?${NAME}$` });
export const dnsPattern = text('dns-pattern', {
  maxLength: 257,
  pattern: `^(\\*\\*?|(\\*\\*?\\.)?${NAME}\\.?)$`,
});
export const addressRange = text('address-range', { maxLength: 49, pattern: '^[0-9A-Fa-f:.]+(/[0-9]{1,3})?$' });
export const ipAddress = text('ip-address', { maxLength: 45 });
export const serialNumber = text('serial-number', { maxLength: 200, pattern: '^[0-9A-Fa-f]+(:[0-9A-Fa-f]+)*$' });
export const timestamp = text('date-time', { maxLength: 40 });
export const date = text('date', { maxLength: 10, pattern: '^[0-9]{4}-[0-9]{2}-[0-9]{2}$' });
export const httpUrl = text('http-url', { maxLength: 2048, pattern: '^https?://[\\x21-\\x7e]+$' });
export const contactUri = text('uri', { maxLength: 320, pattern: '^[A-Za-z][A-Za-z0-9+.-]*:[\\x21-\\x7e]+$' });

const LOWER_LABEL = '[a-z0-9]([a-z0-9-]*[a-z0-9])?';
const kubernetesText = (maxLength: number, pattern: string, example: string) =>
  Type.Unsafe<string>({ type: 'string', minLength: 1, maxLength, pattern, examples: [example] });
/** Names of objects in Kubernetes (RFC 1123 subdomains), and of namespaces (one label of those). */
export const kubernetesName = kubernetesText(253, `^${LOWER_LABEL}(\\.${LOWER_LABEL})*$`, 'corp-issuing');
export const namespaceName = kubernetesText(63, `^${LOWER_LABEL}$`, 'acmery-system');

/** Any text, an empty one too. */
export const boundedText = (maxLength: number) => Type.Unsafe<string>({ type: 'string', maxLength });

/** PEM is bounded here and read by those who know its kind. */
export const pemText = (maxLength: number) => text('pem', { maxLength });
export const secretPemText = (maxLength: number) =>
  Type.Unsafe<string>({ ...pemText(maxLength), writeOnly: true, description: 'A secret: taken in, never shown.' });

/** The id of a resource: its prefix and the 26 characters of a TypeID. */
export const resourceId = (prefix: string) =>
  Type.Unsafe<string>({
    type: 'string',
    maxLength: 40,
    pattern: `^${prefix}_[0-7][0-9a-hjkmnp-tv-z]{25}$`,
    examples: [`${prefix}_01k5w3v8q2e7rbs9x4m6tfhz0j`],
  });

export const integer = (minimum: number, maximum: number, options: { default?: number } = {}) =>
  Type.Integer({ minimum, maximum, ...options });

export const addressRanges = (maxItems: number) => listOf(addressRange, maxItems);
export const dnsPatterns = (maxItems: number) => listOf(dnsPattern, maxItems);
