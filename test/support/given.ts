// The start of most tests of the core: a CA of its own, and somebody who may do everything.
import type { Caller } from '../../src/core/caller.ts';
import { type TestCa, testCa } from './ca.ts';

export type GivenCa = TestCa & { readonly caller: Caller };

export const givenCa = async (): Promise<GivenCa> => ({ ...(await testCa()), caller: admin });

export const admin: Caller = { kind: 'bootstrap', name: 'bootstrap', permission: 'admin', requestId: 'request-1' };
