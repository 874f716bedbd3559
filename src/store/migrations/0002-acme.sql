-- EAB tokens, account keys, orders, authorizations and challenges.

-- EAB tokens ----------------------------------------------------------------------------------------------------------

create domain order_validations as text collate "C" check (value in ('challenge', 'auto_approve'));

create table external_bindings (
  id                 uuid not null primary key,

  origin             origin not null,
  origin_namespace   text collate "C",
  origin_name        text collate "C",
  origin_uid         text collate "C",
  origin_generation  integer,
  orphaned_at        timestamptz,
  version            integer not null default 1,
  created_at         timestamptz not null,
  deleted_at         timestamptz,

  name               text collate "C" not null default '',
  directory_id       uuid not null references directories (id),
  key_id             text collate "C",         -- the ACME kid; null: the id is the kid
  mac_sealed         bytea not null,           -- under the wrap key, which is not in this database
  order_validations  order_validations not null,
  renewed            text collate "C",         -- the `renew` annotation that this row answers
  acme_key_id        uuid,                     -- the account made with it
  used_at            timestamptz,

  constraint external_bindings_acme_key_id_key unique (acme_key_id),
  constraint external_bindings_origin_complete_check check (
    num_nulls(origin_namespace, origin_name, origin_uid, origin_generation) = case origin when 'kubernetes' then 0 else 4 end),
  constraint external_bindings_used_check check ((acme_key_id is null) = (used_at is null))
);

create unique index external_bindings_origin_key on external_bindings (origin_namespace, origin_name)
  where origin = 'kubernetes' and deleted_at is null;
create unique index external_bindings_key_id_key on external_bindings (key_id) where deleted_at is null;

create index external_bindings_directory_id_idx      on external_bindings (directory_id);
create index external_bindings_list_idx              on external_bindings (directory_id, id) where deleted_at is null;
create index external_bindings_list_name_idx         on external_bindings (directory_id, name, id) where deleted_at is null;
create index external_bindings_list_unused_idx       on external_bindings (directory_id, id)
  where acme_key_id is null and deleted_at is null;
create index external_bindings_list_unused_name_idx  on external_bindings (directory_id, name, id)
  where acme_key_id is null and deleted_at is null;

create trigger external_bindings_immutable
  before update of id, created_at, directory_id, key_id, mac_sealed, renewed on external_bindings
  for each row execute function refuse_change('these columns never change');

create trigger external_bindings_used_fixed
  before update of name, order_validations, acme_key_id, used_at on external_bindings
  for each row when (old.acme_key_id is not null) execute function refuse_change('a used token never changes');


-- Account keys --------------------------------------------------------------------------------------------------------

create domain acme_key_state as text collate "C" check (value in ('valid', 'deactivated', 'revoked'));

create table acme_keys (
  id                   uuid not null primary key,
  state                acme_key_state not null,

  origin               origin not null,
  origin_namespace     text collate "C",
  origin_name          text collate "C",
  origin_uid           text collate "C",
  origin_generation    integer,
  orphaned_at          timestamptz,
  version              integer not null default 1,
  created_at           timestamptz not null,
  deleted_at           timestamptz,            -- its custom resource is gone; an account is listed for ever

  name                 text collate "C" not null default '',
  directory_id         uuid not null references directories (id),
  external_binding_id  uuid references external_bindings (id),
  order_validations    order_validations not null,
  used_on              date,
  contacts             text[] collate "C" not null,
  contacts_declared    text[] collate "C",     -- by its custom resource; what the client writes since then wins
  thumbprint           bytea not null,         -- RFC 7638, SHA-256
  spki                 bytea not null,
  jwk                  jsonb not null,
  eab_jws              text collate "C",       -- not jsonb: it is reflected as it came (EAB-4)
  terms_agreed         text collate "C",       -- the URL that was agreed to (ACC-15)

  constraint acme_keys_external_binding_id_key unique (external_binding_id),
  constraint acme_keys_origin_complete_check check (
    num_nulls(origin_namespace, origin_name, origin_uid, origin_generation) = case origin when 'kubernetes' then 0 else 4 end)
) with (fillfactor = 90);                      -- used_on changes daily: room for it in the same page

alter table external_bindings
  add constraint external_bindings_acme_key_id_fkey foreign key (acme_key_id) references acme_keys (id);

create unique index acme_keys_origin_key on acme_keys (origin_namespace, origin_name)
  where origin = 'kubernetes' and deleted_at is null;
create unique index acme_keys_thumbprint_key on acme_keys (thumbprint) where state = 'valid';

create index acme_keys_list_idx             on acme_keys (directory_id, id);
create index acme_keys_list_name_idx        on acme_keys (directory_id, name, id);
create index acme_keys_list_state_idx       on acme_keys (directory_id, state, id);
create index acme_keys_list_state_name_idx  on acme_keys (directory_id, state, name, id);
-- Is any account of this directory registered by key? Decides externalAccountRequired in its metadata.
create index acme_keys_preregistered_idx    on acme_keys (directory_id) where state = 'valid' and origin <> 'acme';

-- The id is in the kid URL that the client keeps.
create trigger acme_keys_immutable before update of id, created_at, directory_id, external_binding_id on acme_keys
  for each row execute function refuse_change('these columns never change');

create domain used_key_why as text collate "C" check (value in ('account', 'invalidated', 'compromised'));

-- Every key that is or was an account's, or is known to be compromised: none of them may come (back) as another thing.
create table used_keys (
  thumbprint   bytea not null primary key,
  why          used_key_why not null,
  since        timestamptz not null,
  acme_key_id  uuid references acme_keys (id)  -- null: a blocked key of a certificate
);

create index used_keys_acme_key_id_idx on used_keys (acme_key_id);

create trigger used_keys_immutable before update of thumbprint, since on used_keys
  for each row execute function refuse_change('these columns never change');

create trigger used_keys_never_deleted before delete on used_keys
  for each row execute function refuse_change('a used key stays known for ever');

create trigger used_keys_why_only_worsens before update of why on used_keys
  for each row when (array_position(array['account', 'invalidated', 'compromised'], new.why)
                   < array_position(array['account', 'invalidated', 'compromised'], old.why))
  execute function refuse_change('account -> invalidated -> compromised is the only way');


-- Orders --------------------------------------------------------------------------------------------------------------

create domain order_state as text collate "C" check (value in ('pending', 'ready', 'processing', 'valid', 'invalid'));

-- An order is pruned before its certificate, and the table can become range-partitioned by id (time-ordered). Therefore
-- no foreign key points at it and its only unique index is the primary key. signing_cert_id has no foreign key: it
-- stands in the reserving statement's own read of the issuer, and an index for it over all orders would serve nothing.
create table orders (
  id              uuid not null primary key,
  acme_key_id     uuid not null references acme_keys (id),
  directory_id    uuid not null references directories (id),
  created_at      timestamptz not null,
  expires_at      timestamptz not null,
  not_before      timestamptz,
  not_after       timestamptz,
  state           order_state not null,
  profile         text collate "C" not null,
  identifiers     jsonb not null,              -- as the client wrote them (ORD-2)
  replaces        text collate "C",            -- as the client wrote it (ARI-7)
  error           jsonb,

  -- written by the statement that reserves: ready -> processing
  signing_cert_id uuid,
  issued_cert_id  uuid,                        -- of the certificate to be; its primary key forbids a second
  serial          bytea,
  tbs             bytea,                       -- what is signed, again after a crash; null once the order is done
  csr_sha256      bytea,                       -- recognises a repeated finalize (FIN-1)
  key_thumbprint  bytea,
  due_at          timestamptz,
  lease_until     timestamptz,
  attempts        integer not null default 0,

  constraint orders_processing_check check (state <> 'processing'
    or num_nulls(signing_cert_id, issued_cert_id, serial, tbs, csr_sha256, key_thumbprint, due_at) = 0),
  constraint orders_valid_check check (state <> 'valid' or (issued_cert_id is not null and tbs is null)),
  constraint orders_error_check check (error is null or state = 'invalid')
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);

alter table orders alter column tbs set storage external;

create index orders_list_acme_key_idx         on orders (acme_key_id, id);
create index orders_list_acme_key_state_idx   on orders (acme_key_id, state, id);
create index orders_list_directory_idx        on orders (directory_id, id);
create index orders_list_directory_state_idx  on orders (directory_id, state, id);
create index orders_due_idx                   on orders (due_at) where state = 'processing';
create index orders_signing_cert_in_use_idx   on orders (signing_cert_id) where state = 'processing';
create index orders_open_expires_at_idx       on orders (expires_at) where state in ('pending', 'ready');

create trigger orders_immutable
  before update of id, acme_key_id, directory_id, created_at, expires_at, not_before, not_after,
                   profile, identifiers, replaces on orders
  for each row execute function refuse_change('what was ordered never changes');


-- Authorizations and challenges ---------------------------------------------------------------------------------------

create domain authorization_state as text collate "C"
  check (value in ('pending', 'valid', 'invalid', 'deactivated', 'expired', 'revoked'));
create domain identifier_type as text collate "C" check (value in ('dns', 'ip'));
create domain challenge_state as text collate "C" check (value in ('pending', 'processing', 'valid', 'invalid'));
create domain challenge_type as text collate "C" check (value in ('http-01', 'dns-01', 'tls-alpn-01', 'dns-account-01'));

create table authorizations (
  id              uuid not null primary key,
  acme_key_id     uuid not null references acme_keys (id),
  created_at      timestamptz not null,
  expires_at      timestamptz not null,
  validated_at    timestamptz,
  caa_checked_at  timestamptz,
  state           authorization_state not null,
  type            identifier_type not null,
  value           text collate "C" not null,   -- lower case, without the `*.` of a wildcard
  wildcard        boolean not null,
  auto            boolean not null,            -- approved by the account's order_validations, without a challenge

  constraint authorizations_wildcard_check check (type = 'dns' or not wildcard),
  constraint authorizations_validated_check check (state <> 'valid' or validated_at is not null)
) with (fillfactor = 90);

-- Neither index knows the state, so a change of state is a HOT update and writes no index. The first finds the longest
-- valid authorization to reuse (ORD-22) and all of an account's.
create index authorizations_reuse_idx       on authorizations (acme_key_id, type, value, wildcard, expires_at);
create index authorizations_expires_at_idx  on authorizations (expires_at);

create trigger authorizations_immutable
  before update of id, acme_key_id, created_at, type, value, wildcard, auto on authorizations
  for each row execute function refuse_change('what is authorized never changes');

-- No foreign key to orders, which are pruned by range.
create table order_authorizations (
  order_id          uuid not null,
  authorization_id  uuid not null references authorizations (id),
  position          smallint not null,         -- in the order of the identifiers: some clients pair them by index

  primary key (order_id, authorization_id)
);

create index order_authorizations_authorization_id_idx on order_authorizations (authorization_id);

create trigger order_authorizations_immutable
  before update of order_id, authorization_id, position on order_authorizations
  for each row execute function refuse_change('the authorizations of an order never change (ORD-20)');

create table challenges (
  id                 uuid not null primary key,
  authorization_id   uuid not null references authorizations (id),
  type               challenge_type not null,
  state              challenge_state not null,
  token              text collate "C" not null,
  key_authorization  text collate "C",         -- of the key, and the account URL, at the time of the response (KEY-6)
  account_url        text collate "C",
  validated_at       timestamptz,
  error              jsonb,
  failures           jsonb,                    -- of the tries so far, while there are more to come (CHA-7, CHA-8)
  due_at             timestamptz,
  lease_until        timestamptz,
  attempts           integer not null default 0,

  constraint challenges_authorization_type_key unique (authorization_id, type),
  constraint challenges_processing_check check (state <> 'processing'
    or num_nulls(key_authorization, account_url, due_at) = 0),
  constraint challenges_validated_check check ((state = 'valid') = (validated_at is not null)),
  constraint challenges_error_check check (error is null or state = 'invalid')
) with (fillfactor = 90);

create index challenges_due_idx on challenges (due_at) where state = 'processing';

create trigger challenges_immutable before update of id, authorization_id, type, token on challenges
  for each row execute function refuse_change('these columns never change');

-- A late failure cannot undo a success (CHA-10).
create trigger challenges_result_fixed before update on challenges
  for each row when (old.state in ('valid', 'invalid')) execute function refuse_change('its result is written once');
