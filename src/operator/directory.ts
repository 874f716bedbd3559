// Directory: an ACME server with its policy.
import type { AppliedAs } from '../core/declared.ts';
import { applyDirectory, forgetDirectory, hasDirectory } from '../core/declared-directory.ts';
import type { DirectoryView } from '../core/directories.ts';
import { formatId } from '../core/ids.ts';
import type { DirectoryResource } from '../resources/directory-resource.ts';
import type { SigningCertResource } from '../resources/signing-cert-resource.ts';
import { earlierClaimant } from './claims.ts';
import { dependentsGone } from './dependents.ts';
import { slugOf, wantedDirectory } from './directory-spec.ts';
import { configMapNameFits, trustPublished } from './directory-trust.ts';
import { unknownAtFirst } from './first-conditions.ts';
import { outcomeOf } from './outcomes.ts';
import {
  done,
  type OperatorContext,
  type Outcome,
  type Reconciler,
  referenced,
  type Step,
  type Visit,
} from './reconciler.ts';
import { rowOf } from './referee-row.ts';
import { referee } from './references.ts';
import { mirrorRemoved, trustMirrored } from './trust-mirror.ts';

type DirectoryStep = Step<DirectoryResource>;
type DirectoryVisit = Visit<DirectoryResource>;

const SLUG = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;

const slugFits: DirectoryStep = async (_, visit) => {
  const slug = slugOf(visit.resource);
  if (SLUG.test(slug)) return done;
  return refused(
    visit,
    stalled(
      'InvalidSpec',
      `spec.slug is absent, and ${slug}, which it would be then, is no slug: 1 to 63 characters of a-z, 0-9 and inner "-". Name one.`,
    ),
  );
};

/** Of several without a row that claim one slug, the oldest makes it; what a row holds stays with it. */
const firstToClaim: DirectoryStep = async (operator, visit) => {
  const { resource } = visit;
  if (visit.status.id !== undefined) return done;
  const slug = slugOf(resource);
  const rival = earlierClaimant(
    operator,
    resource,
    claimOf(slug),
    (one) => issuerFor(operator, one).found !== undefined,
  );
  if (rival === undefined || (await hasDirectory(operator.ca, visit.declared))) return done;
  const { namespace, name } = rival.metadata;
  const who =
    namespace === resource.metadata.namespace ? `Directory ${namespace}/${name}` : 'a Directory of another namespace';
  return refused(
    visit,
    stalled('SlugConflict', `The slug ${slug} is claimed by ${who}, which is older; choose another one in spec.slug.`),
  );
};

const applied: DirectoryStep = async (operator, visit) => {
  const { id, outcome } = await issuerOf(operator, visit);
  if (outcome !== undefined) return outcome;
  try {
    const { as, view } = await applyDirectory(operator.ca, visit.declared, wantedDirectory(visit.resource, id));
    tell(visit, as, view);
    show(visit, view);
    return done;
  } catch (error) {
    const failure = outcomeOf(error);
    if (failure?.outcome !== 'stalled') throw error;
    return refused(visit, failure);
  }
};

const forgotten: DirectoryStep = async ({ ca }, { resource, declared }) => {
  await forgetDirectory(ca, declared, resource.spec.deletionPolicy);
  return done;
};

export const directoryReconciler: Reconciler<DirectoryResource> = {
  kind: 'Directory',
  references: (resource) => [referenced('SigningCert', resource, resource.spec.signingCertRef)],
  needsFinalizer: () => true,
  steps: [
    unknownAtFirst('Accepted', 'SigningCertReady', 'Programmed'),
    slugFits,
    configMapNameFits,
    firstToClaim,
    applied,
    trustPublished,
    trustMirrored,
  ],
  deletion: [dependentsGone, mirrorRemoved, forgotten],
  claims: (resource) => [claimOf(slugOf(resource))],
  showsToReferrers: (before, after) => shownOf(before) !== shownOf(after),
};

/** What those who refer to it look at, besides whether it is ready. */
const shownOf = (resource: DirectoryResource): string =>
  JSON.stringify([
    resource.metadata.deletionTimestamp !== undefined,
    resource.status?.id,
    resource.status?.directoryUrl,
    resource.spec.allowedNamespaces,
  ]);

const issuerFor = (operator: OperatorContext, resource: DirectoryResource) =>
  referee<SigningCertResource>(operator, resource, 'SigningCert', resource.spec.signingCertRef);

/** The uuid of the CA cert. */
async function issuerOf(operator: OperatorContext, visit: DirectoryVisit) {
  const { resource } = visit;
  const { signingCertRef: reference } = resource.spec;
  const { found, outcome } = issuerFor(operator, resource);
  const row = found === undefined ? { outcome } : await rowOf(operator, found);
  if (row.outcome === undefined) {
    const message = `SigningCert ${reference.namespace ?? resource.metadata.namespace}/${reference.name} is ready.`;
    visit.condition('SigningCertReady', { status: 'True', reason: 'Succeeded', message });
    return row;
  }
  const { reason, message } = row.outcome;
  visit.condition('SigningCertReady', { status: 'False', reason, message });
  return row;
}

/** What is served stays as it was, if anything is. */
function refused(visit: DirectoryVisit, outcome: Exclude<Outcome, { outcome: 'done' }>): Outcome {
  const { reason, message } = outcome;
  visit.condition('Accepted', { status: 'False', reason, message });
  visit.condition('Programmed', { status: 'False', reason, message });
  return outcome;
}

/** Before the status says so. */
function tell({ resource, event }: DirectoryVisit, as: AppliedAs, { directoryUrl }: DirectoryView): void {
  const isSeen = resource.status?.observedGeneration === resource.metadata.generation;
  if (as === 'adopted')
    event({ type: 'Normal', reason: 'Adopted', note: `Took over the directory at ${directoryUrl}.` });
  else if (as === 'updated' && isSeen)
    event({ type: 'Warning', reason: 'DriftCorrected', note: 'The directory was not as declared, and is so again.' });
  else if (as !== 'unchanged')
    event({
      type: 'Normal',
      reason: 'DirectoryProgrammed',
      note: `The directory at ${directoryUrl} serves as declared.`,
    });
}

function show(visit: DirectoryVisit, { id, directoryUrl, fields }: DirectoryView): void {
  const { status } = visit;
  status.id = formatId('dir', id);
  status.slug = fields.slug;
  status.directoryUrl = directoryUrl;
  status.signingCertId = formatId('scrt', fields.signing_cert_id);
  status.caaTag = fields.caa_tag;
  visit.condition('Accepted', { status: 'True', reason: 'Succeeded', message: 'The spec can be served.' });
  visit.condition('Programmed', { status: 'True', reason: 'Succeeded', message: `Serves at ${directoryUrl}.` });
}

const claimOf = (slug: string): string => `slug/${slug}`;

const stalled = (reason: string, message: string) => ({ outcome: 'stalled', reason, message }) as const;
