// What the status page needs from outside.
import type { Caller, Permission } from '../core/caller.ts';
import type { HttpHead } from '../http/route.ts';

/** Who sends this request, by its Authorization; the very one that /v1 asks. Throws what /v1 refuses with. */
export type Authenticate = (head: HttpHead, needed: Permission) => Promise<Caller>;
