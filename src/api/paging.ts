// Lists of /v1: the parameters that all of them take, the reply that all of them give, the link to the next page.
import type { Ca } from '../core/ca.ts';
import type { Caller, Permission } from '../core/caller.ts';
import { parseId } from '../core/ids.ts';
import { type ObjectKind, objectKinds } from '../core/object-kinds.ts';
import { type Page, type PageRequest, unknownCursor } from '../core/paging.ts';
import { closed, type TSchema, Type } from '../schema/define.ts';
import {
  enumParameter,
  integerParameter,
  type Parameter,
  type Parameters,
  type ValuesOf,
  withDefault,
} from './parameters.ts';
import type { ApiRoute, ReplyShape } from './route.ts';

type Listed = { readonly id: string };

type ListRow<F extends Parameters, S extends string, View> = {
  readonly path: string;
  readonly operationId: string;
  readonly tag: string;
  readonly summary: string;
  readonly description?: string;
  readonly permission: Permission;
  /** What is listed. */
  readonly kind: ObjectKind;
  readonly filters: F;
  readonly requireOneOf?: readonly (keyof F & string)[];
  /** The first one is the default; only `id` when absent. */
  readonly sorts?: readonly [S, ...S[]];
  /** `asc` when absent. */
  readonly defaultDirection?: PageRequest['direction'];
  /** The shape of an item. */
  readonly item: TSchema;
  list(input: {
    readonly ca: Ca;
    readonly caller: Caller;
    readonly filters: ValuesOf<F>;
    readonly page: PageRequest<S | 'id'>;
  }): Promise<Page<View>>;
  render(view: View, caller: Caller): Listed;
};

/** A row for `GET` of a collection. */
export function listRoute<F extends Parameters, View, S extends string = 'id'>(row: ListRow<F, S, View>): ApiRoute {
  const { kind, filters, sorts, defaultDirection = 'asc', item, list, render, ...described } = row;
  return {
    ...described,
    method: 'GET',
    query: { ...filters, ...pageParameters(kind, defaultDirection), ...(sorts && { sort: sortParameter(sorts) }) },
    replies: { 200: listReply(item) },
    handle: async ({ ca, caller, query, url }) => {
      // The query was read by the parameters above.
      const values = query as ValuesOf<F> & PageValues<S>;
      const page = await list({ ca, caller, filters: values, page: pageRequest(values) });
      const collection = page.items.map((view) => render(view, caller));
      const last = collection.at(-1);
      return {
        status: 200,
        json: { collection, more_results: page.hasMore },
        ...(page.hasMore && last && { headers: { Link: nextLink(url, last.id) } }),
      };
    },
  };
}

const pageParameters = (kind: ObjectKind, direction: PageRequest['direction']) => ({
  limit: integerParameter({ minimum: 1, maximum: 200, default: 50 }, 'How many items a page holds at most.'),
  after: cursorParameter(kind),
  direction: withDefault(enumParameter(['asc', 'desc'], 'Ascending or descending order.'), direction),
});

type PageValues<S extends string> = ValuesOf<ReturnType<typeof pageParameters>> & { readonly sort?: S };

const sortParameter = <S extends string>(sorts: readonly [S, ...S[]]): Parameter<S> =>
  withDefault<S>(
    enumParameter(sorts, 'What the items are ordered by; items of equal name are ordered by id.'),
    sorts[0],
  );

/** Whatever is no id of this kind is a cursor that does not exist. */
const cursorParameter = (kind: ObjectKind): Parameter<string | undefined> => ({
  schema: Type.String({ minLength: 1, maxLength: 200, description: 'The id of the last item of the page before.' }),
  isRequired: false,
  read: (text) => (text === undefined ? undefined : (parseId(objectKinds[kind].prefix, text) ?? unknownCursor())),
});

const pageRequest = <S extends string>({ limit, direction, after, sort }: PageValues<S>): PageRequest<S | 'id'> => ({
  limit,
  direction,
  sort: sort ?? 'id',
  ...(after !== undefined && { after }),
});

const listReply = (item: TSchema): ReplyShape => ({
  description: 'One page of the list.',
  schema: closed({
    collection: Type.Unsafe({ type: 'array', items: item }),
    more_results: Type.Boolean({ description: 'Whether there is another page: the Link header says where.' }),
  }),
  headers: { Link: 'The next page: `</v1/...>; rel="next"`. Absent on the last one.' },
});

/** RFC 8288. Relative to this service, whatever name or proxy it is reached by. */
function nextLink({ path, query }: { readonly path: string; readonly query: URLSearchParams }, lastId: string): string {
  const next = new URLSearchParams(query);
  next.set('after', lastId);
  return `<${path}?${next}>; rel="next"`;
}
