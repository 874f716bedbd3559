// Which namespaces are ours: that of the release, and those whose SigningCerts are heard.
import type { Settings } from '../config/settings.ts';

const NAMESPACE = 'acmery-system';

/** The release namespace: the first that is there. */
export const releaseNamespace = (
  { namespace, podNamespace }: Settings,
  ofCluster: string | undefined = undefined,
): string => namespace ?? podNamespace ?? ofCluster ?? NAMESPACE;

/** Undefined: everywhere. */
export const caNamespacesOf = ({ caNamespaces }: Settings, release: string): readonly string[] | undefined =>
  caNamespaces?.includes('*') ? undefined : (caNamespaces ?? [release]);
