// The Secret of an ExternalBinding: the pair that its client sends, where to, and whom to trust.
import { createHash } from 'node:crypto';
import type { DeclaredBindingView } from '../core/declared-binding-view.ts';
import type { ExternalBindingResource } from '../resources/external-binding-resource.ts';
import { done, type OperatorContext, type Outcome, type Visit } from './reconciler.ts';
import { ownSecret, replacedSecretRemoved } from './secrets.ts';

type BindingVisit = Visit<ExternalBindingResource>;

/** Writes it after the token is committed, since its event wakes who waits for it; not again where it is known to stand there. */
export async function secretSynced(
  operator: OperatorContext,
  visit: BindingVisit,
  name: string,
  view: DeclaredBindingView,
): Promise<Outcome> {
  const { status, resource } = visit;
  const data = dataOf(operator, view);
  const hash = hashOf(data);
  const isKnown = status.secretHash === hash && status.secretName === name;
  if (!isKnown || visit.isThorough) {
    const { result: as, conflict } = await ownSecret(operator, visit, name, () =>
      operator.outputs.apply(
        resource,
        { kind: 'Secret', name, data, wasMade: status.secretName === name },
        visit.signal,
      ),
    );
    if (conflict !== undefined) {
      visit.condition('SecretSynced', { status: 'False', ...conflict });
      return { outcome: 'stalled', ...conflict };
    }
    if (isKnown && as !== 'unchanged') {
      const note = `Secret ${name} was not as it should be, and is so again.`;
      visit.event({ type: 'Warning', reason: 'DriftCorrected', note });
    }
    await replacedSecretRemoved(operator, visit, name);
    status.secretName = name;
    status.secretHash = hash;
  }
  const message = `Secret ${name} holds the token.`;
  visit.condition('SecretSynced', { status: 'True', reason: 'Succeeded', message });
  return done;
}

/** Exactly what clients take: 43 characters, no line end. */
function dataOf({ anchors }: OperatorContext, { keyId, macKey, directoryUrl }: DeclaredBindingView) {
  const trusted = anchors();
  return {
    kid: keyId,
    secret: macKey,
    directory: directoryUrl,
    ...(trusted !== undefined && { 'ca.crt': trusted }),
  };
}

const hashOf = (data: Readonly<Record<string, string>>): string =>
  createHash('sha256').update(JSON.stringify(data)).digest('hex');
