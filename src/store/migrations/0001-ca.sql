-- CA certificates, directories and their slugs.
--
-- Rules of the whole schema:
--   * An id is a UUIDv7, so its order is the order of creation. Ids and times come from the program, never from now().
--   * Text is compared byte by byte (collate "C"), whatever locale the database was made with.
--   * DER is `storage external`: it does not compress, so nothing is spent on trying.
--   * The index of a list (*_list_*) ends in id and leaves tombstones out; lists page by keyset and never sort. A list
--     names every column of the index in its order: acme_key_id = any($1) and id > $2 order by acme_key_id, id. For
--     acme_key_id = $1 order by id limit 50 the planner may walk the primary key instead, and filter millions.
--   * Which values a column may have is its domain's to say. The text of a table's CHECK is parsed anew by every
--     statement that writes to it, the rule of a domain once a session; so a CHECK is for what several columns say.
--   * Names are an interface: the program maps them to errors. Primary keys, foreign keys and the rule of a domain have
--     the name that Postgres gives them (table_column_fkey); everything else is named here.
--   * What never changes is refused here too. `before update of` fires only where a statement sets that column, so the
--     hot updates do not pay for it. The columns of a *_immutable trigger are `Fixed` in tables.ts.

create function refuse_change() returns trigger language plpgsql as $$
begin
  raise exception '% of %: %', lower(tg_op), tg_table_name, tg_argv[0]
    using errcode = 'restrict_violation', table = tg_table_name, constraint = tg_name;
end
$$;


-- CA certificates -----------------------------------------------------------------------------------------------------

create domain origin as text collate "C" check (value in ('kubernetes', 'api', 'acme'));
create domain signing_cert_state as text collate "C" check (value in ('pending', 'active', 'revoked'));
create domain cert_type as text collate "C" check (value in ('root', 'intermediate'));
create domain key_availability as text collate "C" check (value in ('online', 'offline'));
create domain key_type as text collate "C"
  check (value in ('ec_256', 'ec_384', 'ec_521', 'rsa_2048', 'rsa_3072', 'rsa_4096'));
create domain revocation_reason as smallint check (value in (0, 1, 2, 3, 4, 5, 9, 10));

create table signing_certs (
  id                 uuid not null primary key,
  state              signing_cert_state not null,

  origin             origin not null,
  origin_namespace   text collate "C",
  origin_name        text collate "C",
  origin_uid         text collate "C",
  origin_generation  integer,
  orphaned_at        timestamptz,              -- deletionPolicy Retain: the custom resource went, the row serves on
  version            integer not null default 1,
  created_at         timestamptz not null,
  deleted_at         timestamptz,              -- rows stay for the chains of old certificates

  name               text collate "C" not null default '',
  cert_type          cert_type not null,
  key_availability   key_availability not null,
  key_type           key_type not null,
  parent_id          uuid references signing_certs (id),  -- null: a root, or the parent is elsewhere

  valid_days         integer,
  path_length        integer,
  subject            jsonb not null,
  name_constraints   jsonb,
  csr                bytea,                    -- the parent is elsewhere: what it is asked to sign
  der                bytea,
  subject_der        bytea,
  ski                bytea,
  serial             bytea,                    -- big-endian, without leading zero bytes, here and everywhere
  not_before         timestamptz,
  not_after          timestamptz,

  key_ref            text collate "C",         -- in the key store; null: the key is not here, or no longer
  key_due_at         timestamptz,              -- deleted: when the final CRL is signed and the key removed
  key_lease_until    timestamptz,
  key_attempts       integer not null default 0,

  revoked_at         timestamptz,
  reason             revocation_reason,

  constraint signing_certs_origin_complete_check check (
    num_nulls(origin_namespace, origin_name, origin_uid, origin_generation) = case origin when 'kubernetes' then 0 else 4 end),
  constraint signing_certs_certificate_check check (
    state = 'pending' or num_nulls(der, subject_der, ski, serial, not_before, not_after) = 0),
  constraint signing_certs_revocation_check check (
    (state = 'revoked') = (revoked_at is not null) and (revoked_at is null) = (reason is null)),
  constraint signing_certs_root_check check (cert_type = 'intermediate' or parent_id is null),
  constraint signing_certs_offline_check check (key_availability = 'online' or key_ref is null)
);

alter table signing_certs alter column der set storage external, alter column csr set storage external;

create unique index signing_certs_origin_key on signing_certs (origin_namespace, origin_name)
  where origin = 'kubernetes' and deleted_at is null;
-- Both leave tombstones out: a CA certificate that was imported and deleted may be imported again.
create unique index signing_certs_der_key    on signing_certs (sha256(der)) where deleted_at is null;
create unique index signing_certs_serial_key on signing_certs (parent_id, serial) where deleted_at is null;

-- OCSP asks by serial for deleted ones, too.
create index signing_certs_parent_id_idx      on signing_certs (parent_id, serial);
create index signing_certs_ski_idx            on signing_certs (ski);
-- Its hash: a name from elsewhere may be longer than an index takes.
create index signing_certs_subject_idx        on signing_certs (sha256(subject_der)) where deleted_at is null;
create index signing_certs_key_due_idx        on signing_certs (key_due_at) where key_due_at is not null;
create index signing_certs_list_idx           on signing_certs (id) where deleted_at is null;
create index signing_certs_list_cert_type_idx on signing_certs (cert_type, id) where deleted_at is null;
create index signing_certs_list_parent_idx    on signing_certs (parent_id, id) where deleted_at is null;

create trigger signing_certs_immutable
  before update of id, created_at, cert_type, key_availability on signing_certs
  for each row execute function refuse_change('these columns never change');

create trigger signing_certs_csr_fixed
  before update of csr on signing_certs
  for each row when (old.csr is not null) execute function refuse_change('the CSR is already made');

-- While a row is pending its certificate may still turn out different: a key store from before a restore may hold one.
create trigger signing_certs_certificate_fixed
  before update of parent_id, key_type, valid_days, path_length, subject, name_constraints,
                   der, subject_der, ski, serial, not_before, not_after on signing_certs
  for each row when (old.der is not null) execute function refuse_change('the certificate is already there');


-- Directories ---------------------------------------------------------------------------------------------------------

create domain on_missing_caa as text collate "C" check (value in ('pass', 'fail'));
create domain registration_mode as text collate "C" check (value in ('preregister', 'open'));

create table directories (
  id                       uuid not null primary key,

  origin                   origin not null,
  origin_namespace         text collate "C",
  origin_name              text collate "C",
  origin_uid               text collate "C",
  origin_generation        integer,
  orphaned_at              timestamptz,
  version                  integer not null default 1,
  created_at               timestamptz not null,
  deleted_at               timestamptz,        -- a tombstone: its own custom resource may revive it

  name                     text collate "C" not null default '',
  slug                     text collate "C" not null,  -- the current one; all of them are in directory_slugs
  signing_cert_id          uuid not null references signing_certs (id),
  rollover_days            integer not null,
  rollover_at              timestamptz,        -- last change of signing_cert_id
  former_signing_certs     uuid[] not null default '{}',  -- from which it issued before
  allowed_dns_identifiers  text[] collate "C" not null,
  allowed_ip_identifiers   text[] collate "C" not null,
  remote_ip_whitelist      text[] collate "C" not null,
  caa_tag                  text collate "C" not null,
  on_missing_caa           on_missing_caa not null,
  registration_mode        registration_mode not null,
  cert_min_days            integer not null,
  cert_max_days            integer not null,
  profiles                 text[] collate "C" not null,  -- the first is the default
  allowed_key_types        text[] collate "C" not null,
  terms_of_service         text collate "C",
  website                  text collate "C",

  constraint directories_origin_complete_check check (
    num_nulls(origin_namespace, origin_name, origin_uid, origin_generation) = case origin when 'kubernetes' then 0 else 4 end),
  constraint directories_cert_days_check check (0 <= cert_min_days and cert_min_days <= cert_max_days)
);

create unique index directories_origin_key on directories (origin_namespace, origin_name)
  where origin = 'kubernetes' and deleted_at is null;

create index directories_signing_cert_id_idx         on directories (signing_cert_id);
create index directories_list_idx                    on directories (id) where deleted_at is null;
create index directories_list_name_idx               on directories (name, id) where deleted_at is null;
create index directories_list_signing_cert_idx       on directories (signing_cert_id, id) where deleted_at is null;
create index directories_list_signing_cert_name_idx  on directories (signing_cert_id, name, id) where deleted_at is null;

create trigger directories_immutable before update of id, created_at on directories
  for each row execute function refuse_change('these columns never change');

-- Every slug that a directory ever had; every ACME request finds its directory here. A slug outlives its directory and
-- is released only for a new one that asks for it by reuse_slug.
create table directory_slugs (
  slug          text collate "C" not null,
  directory_id  uuid not null references directories (id),
  created_at    timestamptz not null,
  released_at   timestamptz,

  primary key (slug, directory_id)
);

create unique index directory_slugs_slug_key    on directory_slugs (slug) where released_at is null;
create index directory_slugs_directory_id_idx   on directory_slugs (directory_id);

create trigger directory_slugs_immutable before update of slug, directory_id, created_at on directory_slugs
  for each row execute function refuse_change('a slug stays with its directory');
