// The name of a CA cert and the subject of its certificate: each fills in for what the other leaves out.
import type { SigningCertInput } from '../resources/signing-cert-variants.ts';
import { buildName, type DistinguishedName, type NameFields, nameText } from '../x509/name.ts';
import type { FieldProblems } from './field-problems.ts';

export type NamedSubject = {
  readonly name: string;
  readonly subject: NameFields;
  /** DER of the name. */
  readonly subjectDer: Buffer;
};

const MAX_NAME = 200;
const MAX_ATTRIBUTE = 64;

/** Of a CA cert to be generated: CN and O are its name unless said otherwise. */
export async function namedSubject(
  { name: sentName, subject: sentSubject }: SigningCertInput,
  problems: FieldProblems,
): Promise<NamedSubject | undefined> {
  const name = sentName ?? sentSubject?.CN;
  if (name === undefined) {
    problems.add({
      field: 'name',
      code: 'required',
      message: 'this field is required to generate a CA cert, unless subject.CN is given',
    });
    return undefined;
  }
  const subject = { CN: name, O: name, ...sentSubject };
  const tooLong = (['CN', 'O'] as const).filter((field) => [...subject[field]].length > MAX_ATTRIBUTE);
  if (tooLong.length > 0) {
    problems.add(
      ...tooLong.map((field) => ({
        field: `subject.${field}`,
        code: 'bad_length',
        message: `${field} is the name unless it is given, and has at most ${MAX_ATTRIBUTE} characters; the name has ${[...name].length}, so give a shorter ${field}`,
      })),
    );
    return undefined;
  }
  const subjectDer = await problems.reading(sentSubject ? 'subject' : 'name', () => buildName(subject));
  return subjectDer && { name, subject, subjectDer };
}

/** Of an imported certificate: its most specific common name, else all of its subject. */
export const nameOfSubject = (subject: DistinguishedName): string =>
  [...(subject.fields.CN ?? nameText(subject))].slice(0, MAX_NAME).join('');
