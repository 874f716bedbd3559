// ExternalBinding: an EAB token, and the Secret that brings it to its client.

import type { DeclaredBindingView } from '../core/declared-binding-view.ts';
import {
  type AppliedBinding,
  applyExternalBinding,
  type DeclaredBinding,
  hasExternalBinding,
} from '../core/declared-external-binding.ts';
import { CaError } from '../core/errors.ts';
import {
  externalBindingOwners,
  forgetExternalBinding,
  releaseExternalBinding,
} from '../core/forget-external-binding.ts';
import { formatId } from '../core/ids.ts';
import { canonicalOrderValidations } from '../core/order-validations.ts';
import { annotationOf } from '../resources/annotations.ts';
import type { ExternalBindingResource } from '../resources/external-binding-resource.ts';
import { secretSynced } from './binding-secret.ts';
import { boundDirectory, directoryFor, directoryKey } from './bound-directory.ts';
import { earlierClaimant } from './claims.ts';
import { unknownAtFirst } from './first-conditions.ts';
import { fits, LONGEST_NAME } from './output-names.ts';
import { done, type OperatorContext, type Outcome, type Reconciler, type Step, type Visit } from './reconciler.ts';

type BindingStep = Step<ExternalBindingResource>;
type BindingVisit = Visit<ExternalBindingResource>;

const LONGEST_KEY_ID = 128;
const AGAIN_MS = 10_000;
/** Statements of several visits go together, and what is waited for is the API server. */
const CONCURRENCY = 16;

const keyIdFits: BindingStep = async (_, { resource }) => fits('keyId', keyIdOf(resource), LONGEST_KEY_ID);

const secretNameFits: BindingStep = async (_, { resource }) => fits('secretName', secretNameOf(resource), LONGEST_NAME);

/** Of several without a token that claim one key id, the oldest makes it. */
const firstToClaim: BindingStep = async (operator, { resource, declared, status }) => {
  if (status.id !== undefined) return done;
  const keyId = keyIdOf(resource);
  const isBound = (one: ExternalBindingResource): boolean => directoryFor(operator, one).found !== undefined;
  const rival = earlierClaimant(operator, resource, claimOf(keyId), isBound);
  if (rival === undefined || (await hasExternalBinding(operator.ca, declared))) return done;
  const { namespace, name } = rival.metadata;
  return stalled(
    'KeyIdConflict',
    `The key id ${keyId} is claimed by ExternalBinding ${namespace}/${name}, which is older; choose another one in spec.keyId.`,
  );
};

const tokenApplied: BindingStep = async (operator, visit) => {
  const { id, outcome } = { id: undefined, ...(await boundDirectory(operator, visit.resource)) };
  if (id === undefined) return outcome ?? done;
  const { as, view, kept } = await applied(operator, visit, id);
  tell(visit, as, view);
  show(visit, view);
  const synced = await secretSynced(operator, visit, secretNameOf(visit.resource), view);
  if (synced.outcome !== 'done' || kept.length === 0) return synced;
  return stalled(
    'TokenUsed',
    `The token was used by an account, and keeps its ${kept.map((field) => specNames[field]).join(' and ')} since. Change that account, put the spec back, or ask for a new token by the annotation acmery.io/renew: <any new text>.`,
  );
};

const released: BindingStep = async ({ ca }, { resource: { spec }, declared }) => {
  const isRetained = spec.deletionPolicy === 'Retain';
  await releaseExternalBinding(ca, declared, { isRetained, revokesAccount: spec.onDelete === 'RevokeAccount' });
  return done;
};

export const externalBindingReconciler: Reconciler<ExternalBindingResource> = {
  kind: 'ExternalBinding',
  references: (resource) => [directoryKey(resource)],
  // Without one an object costs a write less; its token is then deleted once it is gone.
  needsFinalizer: ({ spec }) => spec.onDelete === 'RevokeAccount' || spec.deletionPolicy === 'Retain',
  concurrency: CONCURRENCY,
  steps: [unknownAtFirst('SecretSynced', 'Bound'), keyIdFits, secretNameFits, firstToClaim, tokenApplied],
  deletion: [released],
  gone: ({ ca }, object) => forgetExternalBinding(ca, object),
  origins: async ({ ca }) => (await externalBindingOwners(ca)).map((owner) => ({ kind: 'ExternalBinding', ...owner })),
  claims: (resource) => [claimOf(keyIdOf(resource))],
  showsToReferrers: () => false,
};

const specNames = { name: 'name', order_validations: 'orderValidations' } as const;

const keyIdOf = ({ spec, metadata: { namespace, name } }: ExternalBindingResource): string =>
  spec.keyId ?? `${namespace}.${name}`;
const claimOf = (keyId: string): string => `key-id/${keyId}`;
const secretNameOf = ({ metadata, spec }: ExternalBindingResource): string => spec.secretName ?? `${metadata.name}-eab`;

/** A key id becomes free when a token is deleted, and nobody tells of that. */
async function applied({ ca }: OperatorContext, visit: BindingVisit, directoryId: string): Promise<AppliedBinding> {
  try {
    return await applyExternalBinding(ca, visit.declared, wanted(visit, directoryId));
  } catch (error) {
    const isTaken = error instanceof CaError && error.kind === 'key_id_taken';
    if (isTaken) visit.comeBackAt(new Date(ca.clock.now().getTime() + AGAIN_MS));
    throw error;
  }
}

function wanted({ resource, status }: BindingVisit, directory_id: string): DeclaredBinding {
  const { metadata, spec } = resource;
  const renew = annotationOf(resource, 'renew');
  return {
    directory_id,
    key_id: keyIdOf(resource),
    isKeyIdGiven: spec.keyId !== undefined,
    name: spec.name ?? metadata.name,
    order_validations: canonicalOrderValidations(spec.orderValidations),
    ...(renew !== undefined && { renew }),
    isNew: status.id === undefined,
  };
}

/** Before the status says so. */
function tell({ resource, status, event }: BindingVisit, as: AppliedBinding['as'], view: DeclaredBindingView): void {
  const { keyId, account } = view;
  const isDrift = as === 'updated' && resource.status?.observedGeneration === resource.metadata.generation;
  if (as === 'adopted') event({ type: 'Normal', reason: 'Adopted', note: `Took over the token ${keyId}.` });
  else if (as === 'created') event({ type: 'Normal', reason: 'BindingCreated', note: `Made the token ${keyId}.` });
  else if (as === 'replaced') {
    const note = `Made another token ${keyId} in the place of the one before.`;
    event({ type: 'Normal', reason: 'BindingCreated', note });
  } else if (isDrift)
    event({ type: 'Warning', reason: 'DriftCorrected', note: 'The token was not as declared, and is so again.' });
  if (account !== undefined && status.acmeKeyId !== formatId('acmk', account.id))
    event({ type: 'Normal', reason: 'BindingUsed', note: `The account ${account.url} was made with it.` });
}

function show(visit: BindingVisit, view: DeclaredBindingView): void {
  const { status } = visit;
  const { account, renewed } = view;
  status.id = formatId('eab', view.id);
  status.keyId = view.keyId;
  status.directoryUrl = view.directoryUrl;
  status.orderValidations = view.orderValidations;
  if (renewed !== undefined) status.renewed = renewed;
  else delete status.renewed;
  if (account !== undefined) {
    status.acmeKeyId = formatId('acmk', account.id);
    status.accountUrl = account.url;
    status.usedAt = account.usedAt.toISOString();
  } else {
    delete status.acmeKeyId;
    delete status.accountUrl;
    delete status.usedAt;
  }
  visit.condition('Bound', boundBy(account));
}

/** No part of Ready: a token is complete before anybody has used it. */
function boundBy(account: DeclaredBindingView['account']) {
  if (account === undefined)
    return { status: 'False', reason: 'Unused', message: 'No account has been made with the token yet.' } as const;
  const { url, state } = account;
  if (state === 'valid')
    return { status: 'True', reason: 'Used', message: `The account ${url} was made with the token.` } as const;
  const message = `The account ${url} that was made with the token is ${state}. The annotation acmery.io/renew: <any new text> makes a new token.`;
  return { status: 'False', reason: 'AccountEnded', message } as const;
}

const stalled = (reason: string, message: string): Outcome => ({ outcome: 'stalled', reason, message });
