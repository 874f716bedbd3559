// The rows of every table, as Kysely sees them. A column's type names its Postgres type; the drift test compares the two.
import type { ColumnType, InsertType, SelectType } from 'kysely';
import type { AcmeKeyState } from '../lifecycles/acme-key.ts';
import type { AuthorizationState } from '../lifecycles/authorization.ts';
import type { ChallengeState, ChallengeType } from '../lifecycles/challenge.ts';
import type { IssuedCertState } from '../lifecycles/issued-cert.ts';
import type { OrderState } from '../lifecycles/order.ts';
import type { SigningCertState } from '../lifecycles/signing-cert.ts';

/** The keys are the table names. */
export type Tables = {
  signing_certs: SigningCertsTable;
  directories: DirectoriesTable;
  directory_slugs: DirectorySlugsTable;
  external_bindings: ExternalBindingsTable;
  acme_keys: AcmeKeysTable;
  used_keys: UsedKeysTable;
  orders: OrdersTable;
  order_authorizations: OrderAuthorizationsTable;
  authorizations: AuthorizationsTable;
  challenges: ChallengesTable;
  issued_certs: IssuedCertsTable;
  issued_cert_names: IssuedCertNamesTable;
  revocations: RevocationsTable;
  crls: CrlsTable;
  ocsp_signers: OcspSignersTable;
  api_tokens: ApiTokensTable;
  service_state: ServiceStateTable;
  nonce_keys: NonceKeysTable;
  spent_nonces: SpentNoncesTable;
  rate_limits: RateLimitsTable;
  audit: AuditTable;
};

type Uuid = string;
type Text = string;
/** Of a domain over text that allows only these values. */
type OneOf<Values extends string> = Values;
type UuidArray = readonly string[];
type TextArray = readonly string[];
type Bytea = Buffer;
type Timestamptz = Date;
/** `YYYY-MM-DD`: a Date would move it by the zone of the process. */
type CalendarDate = string;
type Integer = number;
type Smallint = number;
/** Decimal digits: JavaScript's numbers end before it does. */
type Numeric = string;
type Bool = boolean;
/** Written as JSON text, because the driver would take a JavaScript array for one of Postgres. */
type Jsonb<Value> = ColumnType<Value, string, string>;

/** Written by the insert and never again: an update of it does not compile, and the database refuses it. */
type Fixed<Column> = ColumnType<SelectType<Column>, InsertType<Column>, never>;
/** Has a default in the database, so an insert may leave it out. */
type Defaulted<Column> = ColumnType<Column, Column | undefined, Column>;

/** A problem document or a part of it, as it was decided; rendered by the door. */
export type StoredProblem = {
  readonly type: string;
  readonly detail: string;
  readonly status?: number;
  readonly subproblems?: readonly StoredProblem[];
  readonly identifier?: Identifier;
};
export type Identifier = { readonly type: 'dns' | 'ip'; readonly value: string };
export type Subject = { readonly [Attribute in 'CN' | 'O' | 'OU' | 'L' | 'ST' | 'C']?: string };
export type NameConstraints = {
  readonly [List in 'permitted_dns' | 'excluded_dns' | 'permitted_ip' | 'excluded_ip']?: readonly string[];
};

type SigningCertsTable = {
  id: Fixed<Uuid>;
  state: OneOf<SigningCertState>;
  origin: OneOf<'kubernetes' | 'api' | 'acme'>;
  origin_namespace: Text | null;
  origin_name: Text | null;
  origin_uid: Text | null;
  origin_generation: Integer | null;
  orphaned_at: Timestamptz | null;
  version: Defaulted<Integer>;
  created_at: Fixed<Timestamptz>;
  deleted_at: Timestamptz | null;
  name: Defaulted<Text>;
  cert_type: Fixed<OneOf<'root' | 'intermediate'>>;
  key_availability: Fixed<OneOf<'online' | 'offline'>>;
  key_type: OneOf<'ec_256' | 'ec_384' | 'ec_521' | 'rsa_2048' | 'rsa_3072' | 'rsa_4096'>;
  parent_id: Uuid | null;
  valid_days: Integer | null;
  path_length: Integer | null;
  subject: Jsonb<Subject>;
  name_constraints: Jsonb<NameConstraints> | null;
  csr: Bytea | null;
  der: Bytea | null;
  subject_der: Bytea | null;
  ski: Bytea | null;
  serial: Bytea | null;
  not_before: Timestamptz | null;
  not_after: Timestamptz | null;
  key_ref: Text | null;
  key_due_at: Timestamptz | null;
  key_lease_until: Timestamptz | null;
  key_attempts: Defaulted<Integer>;
  revoked_at: Timestamptz | null;
  reason: Smallint | null;
};

type DirectoriesTable = {
  id: Fixed<Uuid>;
  origin: OneOf<'kubernetes' | 'api' | 'acme'>;
  origin_namespace: Text | null;
  origin_name: Text | null;
  origin_uid: Text | null;
  origin_generation: Integer | null;
  orphaned_at: Timestamptz | null;
  version: Defaulted<Integer>;
  created_at: Fixed<Timestamptz>;
  deleted_at: Timestamptz | null;
  name: Defaulted<Text>;
  slug: Text;
  signing_cert_id: Uuid;
  rollover_days: Integer;
  rollover_at: Timestamptz | null;
  former_signing_certs: Defaulted<UuidArray>;
  allowed_dns_identifiers: TextArray;
  allowed_ip_identifiers: TextArray;
  remote_ip_whitelist: TextArray;
  caa_tag: Text;
  on_missing_caa: OneOf<'pass' | 'fail'>;
  registration_mode: OneOf<'preregister' | 'open'>;
  cert_min_days: Integer;
  cert_max_days: Integer;
  profiles: TextArray;
  allowed_key_types: TextArray;
  terms_of_service: Text | null;
  website: Text | null;
};

type DirectorySlugsTable = {
  slug: Fixed<Text>;
  directory_id: Fixed<Uuid>;
  created_at: Fixed<Timestamptz>;
  released_at: Timestamptz | null;
};

type ExternalBindingsTable = {
  id: Fixed<Uuid>;
  origin: OneOf<'kubernetes' | 'api' | 'acme'>;
  origin_namespace: Text | null;
  origin_name: Text | null;
  origin_uid: Text | null;
  origin_generation: Integer | null;
  orphaned_at: Timestamptz | null;
  version: Defaulted<Integer>;
  created_at: Fixed<Timestamptz>;
  deleted_at: Timestamptz | null;
  name: Defaulted<Text>;
  directory_id: Fixed<Uuid>;
  key_id: Fixed<Text | null>;
  mac_sealed: Fixed<Bytea>;
  order_validations: OneOf<'challenge' | 'auto_approve'>;
  renewed: Fixed<Text | null>;
  acme_key_id: Uuid | null;
  used_at: Timestamptz | null;
};

type AcmeKeysTable = {
  id: Fixed<Uuid>;
  state: OneOf<AcmeKeyState>;
  origin: OneOf<'kubernetes' | 'api' | 'acme'>;
  origin_namespace: Text | null;
  origin_name: Text | null;
  origin_uid: Text | null;
  origin_generation: Integer | null;
  orphaned_at: Timestamptz | null;
  version: Defaulted<Integer>;
  created_at: Fixed<Timestamptz>;
  deleted_at: Timestamptz | null;
  name: Defaulted<Text>;
  directory_id: Fixed<Uuid>;
  external_binding_id: Fixed<Uuid | null>;
  order_validations: OneOf<'challenge' | 'auto_approve'>;
  used_on: CalendarDate | null;
  contacts: TextArray;
  contacts_declared: TextArray | null;
  thumbprint: Bytea;
  spki: Bytea;
  jwk: Jsonb<Readonly<Record<string, string>>>;
  eab_jws: Text | null;
  terms_agreed: Text | null;
};

type UsedKeysTable = {
  thumbprint: Fixed<Bytea>;
  why: OneOf<'account' | 'invalidated' | 'compromised'>;
  since: Fixed<Timestamptz>;
  acme_key_id: Uuid | null;
};

type OrdersTable = {
  id: Fixed<Uuid>;
  acme_key_id: Fixed<Uuid>;
  directory_id: Fixed<Uuid>;
  created_at: Fixed<Timestamptz>;
  expires_at: Fixed<Timestamptz>;
  not_before: Fixed<Timestamptz | null>;
  not_after: Fixed<Timestamptz | null>;
  state: OneOf<OrderState>;
  profile: Fixed<Text>;
  identifiers: Fixed<Jsonb<readonly Identifier[]>>;
  replaces: Fixed<Text | null>;
  error: Jsonb<StoredProblem> | null;
  signing_cert_id: Uuid | null;
  issued_cert_id: Uuid | null;
  serial: Bytea | null;
  tbs: Bytea | null;
  csr_sha256: Bytea | null;
  key_thumbprint: Bytea | null;
  due_at: Timestamptz | null;
  lease_until: Timestamptz | null;
  attempts: Defaulted<Integer>;
};

type AuthorizationsTable = {
  id: Fixed<Uuid>;
  acme_key_id: Fixed<Uuid>;
  created_at: Fixed<Timestamptz>;
  expires_at: Timestamptz;
  validated_at: Timestamptz | null;
  caa_checked_at: Timestamptz | null;
  state: OneOf<AuthorizationState>;
  type: Fixed<OneOf<'dns' | 'ip'>>;
  value: Fixed<Text>;
  wildcard: Fixed<Bool>;
  auto: Fixed<Bool>;
};

type OrderAuthorizationsTable = {
  order_id: Fixed<Uuid>;
  authorization_id: Fixed<Uuid>;
  position: Fixed<Smallint>;
};

type ChallengesTable = {
  id: Fixed<Uuid>;
  authorization_id: Fixed<Uuid>;
  type: Fixed<OneOf<ChallengeType>>;
  state: OneOf<ChallengeState>;
  token: Fixed<Text>;
  key_authorization: Text | null;
  account_url: Text | null;
  validated_at: Timestamptz | null;
  error: Jsonb<StoredProblem> | null;
  failures: Jsonb<readonly StoredProblem[]> | null;
  due_at: Timestamptz | null;
  lease_until: Timestamptz | null;
  attempts: Defaulted<Integer>;
};

type IssuedCertsTable = {
  id: Fixed<Uuid>;
  order_id: Fixed<Uuid>;
  acme_key_id: Fixed<Uuid>;
  directory_id: Fixed<Uuid>;
  signing_cert_id: Fixed<Uuid>;
  replaced_by: Uuid | null;
  not_before: Fixed<Timestamptz>;
  not_after: Fixed<Timestamptz>;
  revoked_at: Timestamptz | null;
  reason: Smallint | null;
  state: OneOf<IssuedCertState>;
  serial: Fixed<Bytea>;
  key_thumbprint: Fixed<Bytea>;
  subjects: Fixed<TextArray>;
  der: Fixed<Bytea>;
};

type IssuedCertNamesTable = {
  name: Fixed<Text>;
  issued_cert_id: Fixed<Uuid>;
};

type RevocationsTable = {
  signing_cert_id: Fixed<Uuid>;
  serial: Fixed<Bytea>;
  revoked_at: Fixed<Timestamptz>;
  changed_at: Timestamptz;
  not_after: Fixed<Timestamptz>;
  entry: Bytea;
};

type CrlsTable = {
  signing_cert_id: Fixed<Uuid>;
  uploaded: Defaulted<Bool>;
  number: Numeric | null;
  this_update: Timestamptz | null;
  next_update: Timestamptz | null;
  sha256: Bytea | null;
  der: Bytea | null;
  dirty_since: Timestamptz | null;
  due_at: Timestamptz | null;
  lease_until: Timestamptz | null;
  attempts: Defaulted<Integer>;
};

type OcspSignersTable = {
  id: Fixed<Uuid>;
  signing_cert_id: Fixed<Uuid>;
  key_ref: Fixed<Text>;
  not_after: Timestamptz | null;
  der: Bytea | null;
  due_at: Timestamptz | null;
  lease_until: Timestamptz | null;
  attempts: Defaulted<Integer>;
};

type ApiTokensTable = {
  id: Fixed<Uuid>;
  name: Fixed<Text>;
  sha256: Fixed<Bytea>;
  permission: Fixed<OneOf<'read' | 'write' | 'admin'>>;
  created_at: Fixed<Timestamptz>;
  expires_at: Fixed<Timestamptz | null>;
  last_used_on: CalendarDate | null;
  revoked_at: Timestamptz | null;
};

type ServiceStateTable = {
  key: Text;
  value: Jsonb<unknown>;
};

type NonceKeysTable = {
  singleton: Defaulted<Bool>;
  kid: Text;
  key: Bytea;
};

type SpentNoncesTable = {
  nonce: Bytea;
};

type RateLimitsTable = {
  kind: Text;
  subject: Text;
  full_at: Timestamptz;
};

type AuditTable = {
  id: Fixed<Uuid>;
  actor_kind: Fixed<
    OneOf<'api_token' | 'bootstrap' | 'service_account' | 'acme_key' | 'custom_resource' | 'command' | 'service'>
  >;
  actor: Fixed<Text>;
  action: Fixed<Text>;
  object_kind: Fixed<Text>;
  object_id: Fixed<Uuid | null>;
  request_id: Fixed<Text | null>;
  detail: Fixed<Jsonb<unknown> | null>;
};
