// SigningCert: a CA cert with its key.

import { authorOf } from '../core/declared.ts';
import { applySigningCert, neededForSigningCert } from '../core/declared-signing-cert.ts';
import { CaError } from '../core/errors.ts';
import { forgetSigningCert } from '../core/forget-signing-cert.ts';
import { parseId } from '../core/ids.ts';
import { keyTrouble } from '../core/signing-cert-status.ts';
import { uploadCrl } from '../core/upload-crl.ts';
import type { SigningCertResource } from '../resources/signing-cert-resource.ts';
import { conditionOf } from './conditions.ts';
import { dependentsGone } from './dependents.ts';
import { unknownAtFirst } from './first-conditions.ts';
import { outcomeOf } from './outcomes.ts';
import { fits } from './output-names.ts';
import {
  done,
  type OperatorContext,
  type Outcome,
  type Reconciler,
  referenced,
  type Step,
  type Visit,
} from './reconciler.ts';
import { materialOf, parentOf } from './signing-cert-needs.ts';
import { refused, show, tell } from './signing-cert-report.ts';
import { wantedSigningCert } from './signing-cert-spec.ts';
import { stateOf } from './signing-cert-state.ts';
import { LOOK_AGAIN_MS, readUserSecret } from './user-secret.ts';

type CertStep = Step<SigningCertResource>;
type CertVisit = Visit<SigningCertResource>;

const LONGEST_NAME = 200;

const namespaceAllowed: CertStep = async ({ caNamespaces }, { resource }) => {
  const { namespace } = resource.metadata;
  if (caNamespaces === undefined || caNamespaces.includes(namespace)) return done;
  return stalled(
    'NamespaceNotAllowed',
    `SigningCerts are accepted in ${caNamespaces.join(', ')} only, and this is ${namespace}; declare it there, or add this namespace to the setting ACMERY_CA_NAMESPACES.`,
  );
};

const nameFits: CertStep = async (_, { resource }) =>
  resource.spec.name === undefined ? fits('name', resource.metadata.name, LONGEST_NAME) : done;

/** The parent and what is imported are needed once: a CA cert outlives the objects that it was made from. */
const applied: CertStep = async (operator, visit) => {
  const needed = await neededForSigningCert(operator.ca, visit.declared);
  const { parentId, outcome: parentOutcome } = needed.parent ? await parentOf(operator, visit) : {};
  if (parentOutcome !== undefined) return refused(visit, parentOutcome);
  const { material, outcome } = needed.material ? await materialOf(operator, visit) : {};
  if (outcome !== undefined) return refused(visit, outcome);
  try {
    const { as, view } = await applySigningCert(
      operator.ca,
      visit.declared,
      wantedSigningCert(visit.resource, { parentId, material }),
    );
    tell(visit, as, view);
    show(operator, visit, view);
    return done;
  } catch (error) {
    return refusedImport(operator, visit, material !== undefined, error);
  }
};

/** A key that is there once stays there, so that it is not asked for at every restart. */
const keyAvailable: CertStep = async ({ ca, namespace }, visit) => {
  const { resource, status, isThorough } = visit;
  if (resource.spec.keyAvailability === 'offline') {
    visit.condition('KeyAvailable', { status: 'False', reason: 'KeyOffline', message: 'The key is kept elsewhere.' });
    return done;
  }
  if (!isThorough && conditionOf(resource, 'KeyAvailable')?.status === 'True') return done;
  const place = `${status.secretName} in namespace ${namespace}`;
  const trouble = await keyTrouble(ca, { keyRef: parseId('scrt', status.id ?? ''), publicCert: status.publicCert });
  if (trouble === undefined) {
    visit.condition('KeyAvailable', { status: 'True', reason: 'Succeeded', message: `The key is in ${place}.` });
    return done;
  }
  const outcome: Outcome =
    trouble === 'missing'
      ? { ...waiting('KeyMissing', `The key is not in ${place}: restore it from a backup.`), afterMs: LOOK_AGAIN_MS }
      : stalled(
          'KeyMismatch',
          `The key in ${place} is not that of the certificate: restore the right one from a backup.`,
        );
  visit.condition('KeyAvailable', { status: 'False', reason: outcome.reason, message: outcome.message });
  return outcome;
};

const certificateCurrent: CertStep = async ({ ca }, visit) => {
  const { issued, expiring, outcome, changesAt } = stateOf(visit.status, ca.clock.now());
  visit.condition('Issued', issued);
  visit.condition('Expiring', expiring);
  if (changesAt !== undefined) visit.comeBackAt(changesAt);
  return outcome;
};

const crlPublished: CertStep = async (operator, visit) => {
  const { crl } = visit.resource.spec;
  const id = parseId('scrt', visit.status.id ?? '');
  if (crl === undefined || id === undefined) return done;
  const { texts, outcome } = await readUserSecret(operator, visit, crl.secretRef, { pem: ['crl.pem', 'ca.crl'] });
  if (outcome !== undefined) return outcome;
  try {
    await uploadCrl(operator.ca, authorOf(visit.declared), id, texts.pem);
    return done;
  } catch (error) {
    if (!(error instanceof CaError) || error.kind !== 'invalid') throw error;
    visit.comeBackAt(soon(operator));
    return stalled('CrlRefused', `The CRL in Secret ${crl.secretRef.name} cannot be published: ${error.message}`);
  }
};

const forgotten: CertStep = async ({ ca }, { resource, declared }) => {
  await forgetSigningCert(ca, declared, resource.spec.deletionPolicy);
  return done;
};

export const signingCertReconciler: Reconciler<SigningCertResource> = {
  kind: 'SigningCert',
  references: (resource) => {
    const { signingCertRef: reference } = resource.spec;
    return reference === undefined ? [] : [referenced('SigningCert', resource, reference)];
  },
  needsFinalizer: () => true,
  steps: [
    unknownAtFirst('KeyAvailable', 'Issued', 'Expiring'),
    namespaceAllowed,
    nameFits,
    applied,
    certificateCurrent,
    keyAvailable,
    crlPublished,
  ],
  deletion: [dependentsGone, forgotten],
  showsToReferrers: (before, after) => shownOf(before) !== shownOf(after),
};

/** What those who refer to it look at, besides whether it is ready. */
const shownOf = (resource: SigningCertResource): string =>
  JSON.stringify([
    resource.metadata.deletionTimestamp !== undefined,
    resource.status?.id,
    resource.status?.fingerprint,
    resource.spec.allowedNamespaces,
  ]);

/** What a Secret holds may become better without a word to us. */
function refusedImport(operator: OperatorContext, visit: CertVisit, isImport: boolean, error: unknown): Outcome {
  const outcome = outcomeOf(error);
  if (outcome?.outcome !== 'stalled') throw error;
  if (!isImport) return refused(visit, outcome);
  visit.comeBackAt(soon(operator));
  const { name } = visit.resource.spec.import?.secretRef ?? {};
  return refused(visit, stalled('ImportFailed', `What Secret ${name} holds cannot be imported: ${outcome.message}`));
}

const soon = ({ ca }: OperatorContext): Date => new Date(ca.clock.now().getTime() + LOOK_AGAIN_MS);
const stalled = (reason: string, message: string) => ({ outcome: 'stalled', reason, message }) as const;
const waiting = (reason: string, message: string) => ({ outcome: 'wait', reason, message }) as const;
