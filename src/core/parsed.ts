// What a parser of the core answers: the value in our own type, or a sentence saying what is wrong and what to write instead.

export type Parsed<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly refusal: string };

export const parsed = <T>(value: T): Parsed<T> => ({ ok: true, value });
export const refused = (refusal: string): { readonly ok: false; readonly refusal: string } => ({ ok: false, refusal });
