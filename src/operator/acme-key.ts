// AcmeKey: an account that is registered by its key, which its owner has or which is made here.
import { type AppliedAcmeKey, applyAcmeKey, type DeclaredAcmeKey } from '../core/declared-acme-key.ts';
import { releaseAcmeKey } from '../core/forget-acme-key.ts';
import { formatId } from '../core/ids.ts';
import { canonicalOrderValidations } from '../core/order-validations.ts';
import type { AcmeKeyResource } from '../resources/acme-key-resource.ts';
import { type AccountSecret, accountSecret, firstPublicKey, noteOn, secretSynced } from './account-secret.ts';
import { boundDirectory, directoryKey } from './bound-directory.ts';
import { unknownAtFirst } from './first-conditions.ts';
import { fits, LONGEST_NAME } from './output-names.ts';
import { done, type OperatorContext, type Outcome, type Reconciler, type Step, type Visit } from './reconciler.ts';
import { ownSecret } from './secrets.ts';

type KeyStep = Step<AcmeKeyResource>;
type KeyVisit = Visit<AcmeKeyResource>;
type View = AppliedAcmeKey['view'];

const secretNameFits: KeyStep = async (_, { resource }) => {
  const secret = accountSecret(resource);
  return secret === undefined ? done : fits('generate.secretName', secret.name, LONGEST_NAME);
};

const registered: KeyStep = async (operator, visit) => {
  const { id, outcome } = { id: undefined, ...(await boundDirectory(operator, visit.resource)) };
  if (id === undefined) return outcome ?? done;
  const secret = accountSecret(visit.resource);
  const apply = () => applyAcmeKey(operator.ca, visit.declared, wanted(operator, visit, id, secret));
  if (secret === undefined) return shown(visit, await apply());
  const { result, conflict } = await ownSecret(operator, visit, secret.name, async () => {
    const applied = await apply();
    const outcome = shown(visit, applied, noteOn(secret));
    return outcome === done ? secretSynced(operator, visit, secret, applied) : outcome;
  });
  return conflict === undefined ? result : { outcome: 'stalled', ...conflict };
};

const released: KeyStep = async (operator, visit) => {
  const isRetained = visit.resource.spec.deletionPolicy === 'Retain';
  await releaseAcmeKey(operator.ca, visit.declared, { isRetained });
  const secret = accountSecret(visit.resource);
  if (secret === undefined) return done;
  // The only copy of a key that stays good; else at once: what is declared again must not find one that was withdrawn.
  const settle = isRetained ? operator.outputs.retain : operator.outputs.remove;
  await settle(visit.resource, secret, visit.signal);
  return done;
};

export const acmeKeyReconciler: Reconciler<AcmeKeyResource> = {
  kind: 'AcmeKey',
  references: (resource) => [directoryKey(resource)],
  needsFinalizer: () => true,
  steps: [unknownAtFirst('Registered'), secretNameFits, registered],
  deletion: [released],
  showsToReferrers: () => false,
};

function wanted(
  operator: OperatorContext,
  visit: KeyVisit,
  directory_id: string,
  secret: AccountSecret | undefined,
): DeclaredAcmeKey {
  const { metadata, spec } = visit.resource;
  return {
    directory_id,
    name: spec.name ?? metadata.name,
    contacts: spec.contacts,
    order_validations: canonicalOrderValidations(spec.orderValidations),
    publicKey:
      secret === undefined ? { given: spec.publicKey ?? '' } : { make: () => firstPublicKey(operator, visit, secret) },
  };
}

/** Of an account that has ended nothing can be made any more. */
function shown(visit: KeyVisit, { as, view }: AppliedAcmeKey, note = ''): Outcome {
  const { resource } = visit;
  const isDrift = as === 'updated' && resource.status?.observedGeneration === resource.metadata.generation;
  if (as === 'adopted') visit.event({ type: 'Normal', reason: 'Adopted', note: `Took over the account ${view.kid}.` });
  else if (as === 'created')
    visit.event({ type: 'Normal', reason: 'AccountRegistered', note: `Registered the account ${view.kid}.` });
  else if (isDrift)
    visit.event({
      type: 'Warning',
      reason: 'DriftCorrected',
      note: 'The account was not as declared, and is so again.',
    });
  show(visit, view);
  if (view.state !== 'valid') return ended(visit, view);
  visit.condition('Registered', { status: 'True', reason: 'Succeeded', message: `The account is ${view.kid}.${note}` });
  return done;
}

function show({ status }: KeyVisit, view: View): void {
  status.id = formatId('acmk', view.id);
  status.state = view.state;
  status.thumbprint = view.thumbprint;
  status.publicKey = view.publicKey;
  status.contacts = [...view.contacts];
  status.orderValidations = view.orderValidations;
  status.directoryUrl = view.directoryUrl;
  status.accountUrl = view.kid;
}

function ended(visit: KeyVisit, { kid, state }: View): Outcome {
  const by = state === 'deactivated' ? 'by its ACME client' : 'by an administrator';
  const message = `The account ${kid} was ${state} ${by}, and its key is never accepted again. Delete this object, and declare it with another key.`;
  visit.condition('Registered', { status: 'False', reason: 'KeyNotValid', message });
  return { outcome: 'stalled', reason: 'KeyNotValid', message };
}
