// Secrets of others, followed by their metadata alone: what is in them never comes here.
import type { SecretChange } from '../operator/ports.ts';
import { kindNames } from '../resources/resource.ts';
import { secretsPath } from './api-paths.ts';
import { Cache } from './cache.ts';
import { controllerOf, isOfOurGroup, type KubernetesObject } from './kubernetes-object.ts';
import { FIELD_MANAGER } from './managed-by.ts';
import type { Reflection } from './reflector.ts';

type SecretReflection = Pick<Reflection, 'path' | 'metadataOnly' | 'keep'> & {
  readonly cache: Cache;
};

/** Tells of what comes after the Secrets that there are at first, and not of what we have written ourselves. */
export function secretReflection(
  namespace: string | undefined,
  changed: (secret: SecretChange) => void,
): SecretReflection {
  let isFilled = false;
  const cache = new Cache({
    keep: (secret) => secret,
    changed(before, after) {
      if (isFilled && !(after !== undefined && isOurWrite(after))) changed(changeOf(after ?? before));
    },
  });
  void cache.filled.then(() => {
    isFilled = true;
  });
  return { cache, path: secretsPath(namespace), metadataOnly: true, keep: keptOf };
}

type Kept = KubernetesObject & { readonly isOurWrite?: boolean };

/** What is needed to know one again, and whose it is. */
function keptOf({ metadata }: KubernetesObject): Kept {
  const { name, namespace, uid, resourceVersion, ownerReferences, managedFields = [] } = metadata;
  const latest = managedFields.toSorted((one, other) => ((one.time ?? '') < (other.time ?? '') ? 1 : -1));
  return {
    metadata: {
      name,
      uid,
      resourceVersion,
      ...(namespace && { namespace }),
      ...(ownerReferences && { ownerReferences }),
    },
    isOurWrite: latest[0]?.manager === FIELD_MANAGER && latest[1]?.time !== latest[0].time,
  };
}

const isOurWrite = ({ isOurWrite: isOurs }: Kept): boolean => isOurs === true;

function changeOf(secret: KubernetesObject | undefined): SecretChange {
  const { namespace = '', name = '' } = secret?.metadata ?? {};
  const controller = secret && controllerOf(secret);
  const kind = kindNames.find((one) => one === controller?.kind);
  const isOwned = kind !== undefined && controller !== undefined && isOfOurGroup(controller);
  return { namespace, name, ...(isOwned && { owner: { kind, namespace, name: controller.name } }) };
}
