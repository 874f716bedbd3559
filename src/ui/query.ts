// Filters and places in the address of a list, each a value that /v1 would take.
import { CaError } from '../core/errors.ts';
import { parseId } from '../core/ids.ts';
import { objectKinds } from '../core/object-kinds.ts';
import type { PagePlace } from '../core/order-report.ts';
import { unknownCursor } from '../core/paging.ts';
import type { LinkedKind } from './parts/links.ts';

const ROWS_OF_PAGE = 25;

/** The uuid in `<kind>_id`. Throws `invalid` for what is no id of this kind. */
export function idIn(query: URLSearchParams, kind: LinkedKind): string | undefined {
  const text = query.get(`${kind}_id`) ?? '';
  if (text === '') return undefined;
  const { prefix, noun } = objectKinds[kind];
  return parseId(prefix, text) ?? invalid(`${kind}_id`, `is not the id of a ${noun}, which begins with ${prefix}_.`);
}

/** One of these values. Throws `invalid` for another one. */
export function choiceIn<const V extends readonly string[]>(
  query: URLSearchParams,
  name: string,
  values: V,
): V[number] | undefined {
  const text = query.get(name) ?? '';
  if (text === '') return undefined;
  return values.find((value) => value === text) ?? invalid(name, `is none of ${values.join(', ')}.`);
}

/** Where a page of a list begins. Throws `unknown_cursor`. */
export function placeIn(query: URLSearchParams, kind: LinkedKind): PagePlace {
  const after = query.get('after');
  return {
    limit: ROWS_OF_PAGE,
    after: after === null ? undefined : (parseId(objectKinds[kind].prefix, after) ?? unknownCursor()),
  };
}

function invalid(field: string, sentence: string): never {
  throw new CaError('invalid', `The filter ${field} in this address ${sentence}`, { field });
}
