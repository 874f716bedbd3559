// What a parser of the core answers: the value in our own type, or a sentence saying what is wrong and what to write instead.

export type Parsed<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly refusal: string };

export const parsed = <T>(value: T): Parsed<T> => ({ ok: true, value });
export const refused = (refusal: string): { readonly ok: false; readonly refusal: string } => ({ ok: false, refusal });

/** All values, or every refusal with the place it belongs to. */
export type ParsedList<T> =
  | { readonly ok: true; readonly values: readonly T[] }
  | { readonly ok: false; readonly refusals: readonly { readonly index: number; readonly refusal: string }[] };

export function parseEach<T>(texts: readonly string[], parse: (text: string) => Parsed<T>): ParsedList<T> {
  const results = texts.map(parse);
  const refusals = results.flatMap((result, index) => (result.ok ? [] : [{ index, refusal: result.refusal }]));
  if (refusals.length > 0) return { ok: false, refusals };
  return { ok: true, values: results.flatMap((result) => (result.ok ? [result.value] : [])) };
}
