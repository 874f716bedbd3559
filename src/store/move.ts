// Guarded moves: one update that names the states it assumes. No row means that somebody else was faster, or the id is not there.
import { type SelectType, sql, type Updateable } from 'kysely';
import { acmeKeyLifecycle } from '../lifecycles/acme-key.ts';
import { authorizationLifecycle } from '../lifecycles/authorization.ts';
import { challengeLifecycle } from '../lifecycles/challenge.ts';
import { issuedCertLifecycle } from '../lifecycles/issued-cert.ts';
import { type Lifecycle, sourcesOf } from '../lifecycles/lifecycle.ts';
import { orderLifecycle } from '../lifecycles/order.ts';
import { signingCertLifecycle } from '../lifecycles/signing-cert.ts';
import type { Db } from './database.ts';
import type { Tables } from './tables.ts';

/** The tables whose rows have a lifecycle. */
type StatefulTable = { [T in keyof Tables]: Tables[T] extends { state: string } ? T : never }[keyof Tables];
type State<T extends StatefulTable> = Tables[T]['state'];
type Column<T extends StatefulTable> = keyof Tables[T] & string;

type Moved<T extends StatefulTable, C extends Column<T>> = { readonly [K in C | 'id']: SelectType<Tables[T][K]> };

type MoveOptions<T extends StatefulTable, C extends Column<T>> = {
  /** Fewer sources than the lifecycle allows. */
  readonly from?: readonly State<T>[];
  /** What else the move writes. */
  readonly set?: Omit<Updateable<Tables[T]>, 'state'>;
  /** The columns of the moved row that are wanted besides its id. */
  readonly returning?: readonly C[];
};

export const moveOrder = mover('orders', orderLifecycle);
export const moveAuthorization = mover('authorizations', authorizationLifecycle);
export const moveChallenge = mover('challenges', challengeLifecycle);
export const moveAcmeKey = mover('acme_keys', acmeKeyLifecycle);
export const moveIssuedCert = mover('issued_certs', issuedCertLifecycle);
export const moveSigningCert = mover('signing_certs', signingCertLifecycle);

function mover<T extends StatefulTable>(table: T, lifecycle: Lifecycle<State<T>>) {
  return async <C extends Column<T> = never>(
    db: Db,
    id: string,
    to: State<T>,
    { from, set, returning = [] }: MoveOptions<T, C> = {},
  ): Promise<Moved<T, C> | undefined> => {
    const sources = sourcesOf(lifecycle, to).filter((state) => from?.includes(state) ?? true);
    const changes = Object.entries({ ...set, state: to }).map(([column, value]) => sql`${sql.ref(column)} = ${value}`);
    const { rows } = await sql<Moved<T, C>>`
      update ${sql.table(table)} set ${sql.join(changes)}
       where id = ${id} and (state = any(${sources})) is true
      returning ${sql.join(['id', ...returning].map((column) => sql.ref(column)))}`.execute(db);
    return rows[0];
  };
}
