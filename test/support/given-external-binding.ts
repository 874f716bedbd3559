// EAB tokens for tests, made by the core as /v1 makes them.
import type { Ca } from '../../src/core/ca.ts';
import { createExternalBinding } from '../../src/core/create-external-binding.ts';
import type { ExternalBindingView } from '../../src/core/external-bindings.ts';
import { admin } from './given.ts';

type Wanted = Partial<Omit<Parameters<typeof createExternalBinding>[2], 'directory_id'>>;

/** An unused token, for orders that are validated by challenge unless said otherwise. */
export const givenExternalBinding = (
  ca: Ca,
  directory: { readonly id: string },
  wanted: Wanted = {},
): Promise<ExternalBindingView> =>
  createExternalBinding(ca, admin, { directory_id: directory.id, order_validations: 'challenge', ...wanted });
