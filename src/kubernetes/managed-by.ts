// The label of everything that this program makes in a cluster.
import type { KubernetesObject } from './kubernetes-object.ts';

const LABEL = 'app.kubernetes.io/managed-by';
const US = 'acmery';

export const MANAGED_BY_US: Readonly<Record<string, string>> = { [LABEL]: US };
export const MANAGED_BY_US_SELECTOR = `${LABEL}=${US}`;

export const isMadeByUs = ({ metadata }: KubernetesObject): boolean => metadata.labels?.[LABEL] === US;
