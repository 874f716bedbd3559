// How everything that this program makes in a cluster is known again.
import type { KubernetesObject } from './kubernetes-object.ts';

const LABEL = 'app.kubernetes.io/managed-by';
const US = 'acmery';
/** Who has written a field, as the API server keeps it. */
export const FIELD_MANAGER = US;

export const MANAGED_BY_US: Readonly<Record<string, string>> = { [LABEL]: US };
export const MANAGED_BY_US_SELECTOR = `${LABEL}=${US}`;

export const isMadeByUs = ({ metadata }: KubernetesObject): boolean => metadata.labels?.[LABEL] === US;
