// How the orders of an account are validated: one value, which callers may write in two ways.
import type { ExternalBindingRow } from '../store/external-bindings.ts';

export type OrderValidations = ExternalBindingRow['order_validations'];

/** The second value has two names; one of them is stored and shown. */
export const canonicalOrderValidations = (given: OrderValidations | 'auto_approved'): OrderValidations =>
  given === 'auto_approved' ? 'auto_approve' : given;
