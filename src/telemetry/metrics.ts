// Every metric of the program, one row each, in a registry of its own per process object.
import { collectDefaultMetrics, Registry } from 'prom-client';
import { declaredElsewhere, rowsOf } from './metric-rows.ts';

export const httpMethods = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'other'] as const;
export const statusClasses = ['1xx', '2xx', '3xx', '4xx', '5xx', 'gone'] as const;

export const housekeepingKinds = [
  'order_expired',
  'authorization_expired',
  'challenge_ended',
  'order_removed',
  'authorization_removed',
  'certificate_removed',
  'audit_partition_removed',
  'rate_limit_removed',
] as const;

export const ocspStatuses = [
  'good',
  'revoked',
  'unknown',
  'malformed_request',
  'unauthorized',
  'try_later',
  'internal_error',
] as const;

const REQUEST_SECONDS = [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

export type Metrics = ReturnType<typeof createMetrics>;

/** A new row: add it here, then set it in `events.ts`. */
export function createMetrics() {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const { counter, gauge, histogram, reading } = rowsOf(registry);
  const door = declaredElsewhere;
  const route = declaredElsewhere;

  return {
    contentType: registry.contentType,
    /** The text that Prometheus reads. */
    text: (): Promise<string> => registry.metrics(),

    build: gauge('acmery_build_info', 'Always 1; the labels name what runs.', {
      version: declaredElsewhere,
      node: declaredElsewhere,
    }),
    ready: gauge('acmery_ready', '1 while every readiness check passes.', {}),
    healthChecks: gauge('acmery_health_check', '1 while this check of /livez or /readyz passes.', {
      check: declaredElsewhere,
    }),
    databaseUp: gauge('acmery_database_up', '1 while the database answers.', {}),
    databaseLosses: counter('acmery_database_lost_total', 'Times that the database stopped answering.', {}),
    databaseConnectionsLost: counter(
      'acmery_database_connections_lost_total',
      'Idle database connections that ended without our doing.',
      {},
    ),
    databasePool: reading('acmery_database_pool_connections', 'Connections to the database, by what they do.', {
      state: ['in_use', 'idle'],
    }),
    databasePoolLimit: reading('acmery_database_pool_limit', 'How many connections there may be.', {}),
    databasePoolWaiting: reading('acmery_database_pool_waiting', 'Statements that wait for a connection.', {}),
    databaseShared: reading(
      'acmery_database_shared_statements',
      'Statements under way on the connections that many share, by what they do.',
      { connection: ['reads', 'writes'] },
    ),
    databaseSharedOldest: reading(
      'acmery_database_shared_oldest_seconds',
      'How long the oldest statement on a shared connection has been under way; 0 when there is none.',
      { connection: ['reads', 'writes'] },
    ),
    migrations: counter('acmery_migrations_applied_total', 'Schema migrations that this process applied.', {}),
    clockSkew: gauge('acmery_clock_skew_seconds', "This machine's clock minus the database's.", {}),
    clockSkewSeen: counter('acmery_clock_skew_seen_total', 'Comparisons that found the clocks apart.', {}),

    signingCerts: counter('acmery_signing_cert_changes_total', 'Changes of CA certs, by what was done.', {
      change: ['created', 'completed', 'revoked', 'deleted', 'key_removed', 'dropped', 'undo_failed'],
    }),
    signingCertEnd: gauge('acmery_signing_cert_expiry_timestamp_seconds', 'When a CA cert ends.', {
      signing_cert: declaredElsewhere,
    }),

    directories: counter('acmery_directory_changes_total', 'Changes of directories, by what was done.', {
      change: ['created', 'updated', 'deleted'],
    }),
    acmeKeys: counter('acmery_acme_key_changes_total', 'Changes of account keys, by what was done.', {
      change: ['registered', 'updated', 'key_changed', 'deactivated', 'revoked'],
    }),
    certsIssued: counter('acmery_certificates_issued_total', 'Certificates issued, by profile and type of key.', {
      profile: declaredElsewhere,
      key_type: declaredElsewhere,
    }),
    issuanceSeconds: histogram(
      'acmery_issuance_duration_seconds',
      'From the begin of finalize, or of the work of a worker, to the stored certificate.',
      { profile: declaredElsewhere },
      REQUEST_SECONDS,
    ),
    issuanceFailures: counter(
      'acmery_issuance_failures_total',
      'Finalize requests and orders that were refused, by error type.',
      {
        reason: declaredElsewhere,
      },
    ),
    issuanceDelays: counter(
      'acmery_issuance_delays_total',
      'Reserved certificates that could not be signed or stored at once.',
      {},
    ),
    lintFailures: counter(
      'acmery_lint_failures_total',
      'Certificates that broke a rule before they were signed: each is a bug.',
      {
        rule: declaredElsewhere,
      },
    ),
    ordersReleased: counter(
      'acmery_orders_released_total',
      'Orders that are ready again because the key of their CA is gone.',
      {},
    ),
    certsRevoked: counter('acmery_certificates_revoked_total', 'Certificates revoked, by reason.', {
      reason: declaredElsewhere,
    }),
    revocationsUpgraded: counter(
      'acmery_revocations_upgraded_total',
      'Revoked certificates whose reason became key_compromise later.',
      {},
    ),
    crlBuilds: counter('acmery_crl_builds_total', 'CRLs that were to be built, by what came of it.', {
      outcome: ['published', 'failed'],
    }),
    crlBuildSeconds: histogram('acmery_crl_build_duration_seconds', 'From the begin to the published CRL.', {}, [
      ...REQUEST_SECONDS,
    ]),
    crlThisUpdate: gauge('acmery_crl_this_update_timestamp_seconds', 'The thisUpdate of the CRL of a CA cert.', {
      signing_cert: declaredElsewhere,
    }),
    crlNextUpdate: gauge(
      'acmery_crl_next_update_timestamp_seconds',
      'The nextUpdate of the CRL of a CA cert: after it relying parties refuse all its certificates.',
      { signing_cert: declaredElsewhere },
    ),
    crlMarkFailures: counter(
      'acmery_crl_mark_failures_total',
      'Revocations whose CRL could not be marked at once; a sweep does it later.',
      {},
    ),

    ordersCreated: counter('acmery_orders_created_total', 'New orders, by the state in which they are born.', {
      state: ['pending', 'ready'],
    }),
    authorizations: counter(
      'acmery_authorization_changes_total',
      'Authorizations that clients made in advance or deactivated.',
      { change: ['created', 'deactivated'] },
    ),
    validations: counter('acmery_validations_total', 'Tries to validate a challenge, by what came of them.', {
      type: declaredElsewhere,
      outcome: ['valid', 'retried', 'invalid', 'postponed', 'dropped'],
    }),
    validationSeconds: histogram(
      'acmery_validation_duration_seconds',
      'Tries to validate a challenge, CAA look-ups included.',
      { type: declaredElsewhere },
      REQUEST_SECONDS,
    ),

    ocspAnswers: counter('acmery_ocsp_answers_total', 'What OCSP said of certificates, and requests that it refused.', {
      status: ocspStatuses,
    }),
    ocspSignatures: counter('acmery_ocsp_signatures_total', 'OCSP answers that were signed: the others were kept.', {}),
    ocspSigners: counter('acmery_ocsp_signer_changes_total', 'Keys that sign OCSP answers, by what was done.', {
      change: ['made', 'removed'],
    }),

    servingCertificates: counter('acmery_serving_certificates_total', 'Certificates for our own HTTPS, by outcome.', {
      outcome: ['made', 'rotated', 'refused'],
    }),
    servingCertificateEnd: gauge(
      'acmery_serving_certificate_expiry_timestamp_seconds',
      'When the certificate of our own HTTPS ends.',
      {},
    ),

    manifestProblems: gauge('acmery_manifest_problems', 'Things wrong in the folder of manifests.', {}),
    workQueueDepth: gauge('workqueue_depth', 'Objects that wait to be looked at.', { name: declaredElsewhere }),
    workQueueAdds: counter('workqueue_adds_total', 'Objects put into the queue.', { name: declaredElsewhere }),
    workQueueRetries: counter('workqueue_retries_total', 'Objects put back after a failure.', {
      name: declaredElsewhere,
    }),
    workQueueSeconds: histogram(
      'workqueue_queue_duration_seconds',
      'How long objects waited to be looked at.',
      { name: declaredElsewhere },
      REQUEST_SECONDS,
    ),
    reconciles: counter('controller_runtime_reconcile_total', 'Visits of custom resources, by what came of them.', {
      controller: declaredElsewhere,
      result: ['success', 'requeue_after', 'requeue', 'error'],
    }),
    reconcileErrors: counter('controller_runtime_reconcile_errors_total', 'Visits that failed and are repeated.', {
      controller: declaredElsewhere,
    }),
    terminalReconcileErrors: counter(
      'controller_runtime_terminal_reconcile_errors_total',
      'Visits that found what only its user can change.',
      { controller: declaredElsewhere },
    ),

    tasks: counter('acmery_worker_tasks_total', 'Background tasks that were run, by outcome.', {
      task: declaredElsewhere,
      outcome: ['done', 'failed'],
    }),

    requests: counter('acmery_http_requests_total', 'Requests that ended; status `gone`: the client left first.', {
      door,
      route,
      method: httpMethods,
      status: statusClasses,
    }),
    requestSeconds: histogram(
      'acmery_http_request_duration_seconds',
      'From the head of a request to the end of its reply.',
      { door, route },
      REQUEST_SECONDS,
    ),
    requestsInWork: gauge('acmery_http_requests_in_work', 'Requests being worked on now.', { door }),
    requestsOverloaded: counter('acmery_http_requests_overloaded_total', 'Requests refused for overload.', { door }),
    limitHits: counter('acmery_limit_hits_total', 'What was refused because a limit was reached.', {
      limit: ['requests', 'accounts', 'orders', 'failures'],
    }),
    uiSignIns: counter('acmery_ui_sign_ins_total', 'Sign-ins to the status page.', {
      outcome: ['accepted', 'refused'],
    }),

    clusterRequests: counter('rest_client_requests_total', 'Requests to the API server, by answer.', {
      host: declaredElsewhere,
      method: httpMethods,
      code: declaredElsewhere,
    }),
    clusterRequestSeconds: histogram(
      'rest_client_request_duration_seconds',
      'From a request to the API server to the head of its answer.',
      { host: declaredElsewhere, verb: httpMethods },
      REQUEST_SECONDS,
    ),
    reflectorLists: counter('reflector_lists_total', 'Times that all objects of a resource were read.', {
      name: declaredElsewhere,
    }),
    reflectorWatches: counter('reflector_watches_total', 'Watches of a resource that were begun.', {
      name: declaredElsewhere,
    }),
    watchFailures: counter('acmery_watch_failures_total', 'Watches of a resource that ended otherwise than asked.', {
      resource: declaredElsewhere,
    }),
    leader: gauge('leader_election_master_status', '1 while this process leads.', { name: declaredElsewhere }),
    objectEventsDropped: counter('acmery_object_events_dropped_total', 'Kubernetes events that could not be sent.', {}),
    issuerInjections: counter('acmery_issuer_injections_total', 'Writes to Issuers of cert-manager, by outcome.', {
      outcome: ['done', 'failed'],
    }),
    tokenReviews: counter('acmery_token_reviews_total', 'Tokens of the cluster that were asked about, by answer.', {
      outcome: ['known', 'unknown', 'unavailable'],
    }),

    housekeeping: counter('acmery_housekeeping_rows_total', 'Rows that time ended, or that were kept long enough.', {
      what: housekeepingKinds,
    }),
    connectionsDropped: counter('acmery_http_connections_dropped_total', 'Connections beyond the limit.', { door }),
    internalErrors: counter('acmery_internal_errors_total', 'Errors that nobody expected: each is a bug.', {
      where: declaredElsewhere,
    }),
  };
}
