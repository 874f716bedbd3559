-- Issued certificates, and what says which of them are revoked.

-- Issued certificates -------------------------------------------------------------------------------------------------

create domain issued_cert_state as text collate "C" check (value in ('valid', 'revoked'));

-- The large table: 1.3 kB a row. Unpartitioned it carries tens of millions of rows, and only so can a serial be unique
-- in the whole table: a unique index on a partitioned one must contain the partition key. The way to partitions, when
-- deleting by batches costs too much (say beyond 50 million rows): range partitions by id, everything below but
-- issued_certs_serial_key made on the parent, and that one made on each partition by itself. A serial is then unique
-- among the certificates of its month, which catches a random generator that repeats itself, and 128 random bits keep
-- the months apart; finding a certificate by its serial probes each partition once. A narrow table of serials would
-- keep the guarantee, but costs each certificate a second row and index entry for ever, and nothing else needs it.
-- For the same reason no foreign key points here.
create table issued_certs (
  id               uuid not null primary key,  -- orders.issued_cert_id: an order never has a second certificate
  order_id         uuid not null,              -- the order may be pruned before its certificate
  acme_key_id      uuid not null references acme_keys (id),
  directory_id     uuid not null references directories (id),
  signing_cert_id  uuid not null references signing_certs (id),
  replaced_by      uuid,                       -- the order that names this certificate in `replaces`
  not_before       timestamptz not null,
  not_after        timestamptz not null,
  revoked_at       timestamptz,
  reason           revocation_reason,
  state            issued_cert_state not null,
  serial           bytea not null,
  key_thumbprint   bytea not null,
  subjects         text[] collate "C" not null,  -- SAN values in the certificate's order
  der              bytea not null,             -- the leaf alone; chains are composed

  constraint issued_certs_revocation_check check (
    (state = 'revoked') = (revoked_at is not null) and (revoked_at is null) = (reason is null))
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);

alter table issued_certs alter column der set storage external;

create unique index issued_certs_serial_key on issued_certs (serial, signing_cert_id);

create index issued_certs_key_thumbprint_idx     on issued_certs (key_thumbprint);
-- Retention. What is not revoked is found through issued_certs_list_signing_cert_expiry_idx, one CA after the other.
create index issued_certs_revoked_not_after_idx  on issued_certs (not_after) where revoked_at is not null;

-- For each of the three ids that a list is asked by, and for the CA beside one of the other two (a directory changes its CA,
-- an account never its directory): all by id, the revoked by id, and both those revoked and those not by expiry. What is
-- revoked is rare, and its indexes cost an issuance nothing.
create index issued_certs_list_acme_key_idx
  on issued_certs (acme_key_id, id);
create index issued_certs_list_acme_key_revoked_idx
  on issued_certs (acme_key_id, id) where revoked_at is not null;
create index issued_certs_list_acme_key_expiry_idx
  on issued_certs (acme_key_id, not_after, id) where revoked_at is null;
create index issued_certs_list_acme_key_revoked_expiry_idx
  on issued_certs (acme_key_id, not_after, id) where revoked_at is not null;
create index issued_certs_list_directory_idx
  on issued_certs (directory_id, id);
create index issued_certs_list_directory_revoked_idx
  on issued_certs (directory_id, id) where revoked_at is not null;
create index issued_certs_list_directory_expiry_idx
  on issued_certs (directory_id, not_after, id) where revoked_at is null;
create index issued_certs_list_directory_revoked_expiry_idx
  on issued_certs (directory_id, not_after, id) where revoked_at is not null;
create index issued_certs_list_signing_cert_idx
  on issued_certs (signing_cert_id, id);
create index issued_certs_list_signing_cert_revoked_idx
  on issued_certs (signing_cert_id, id) where revoked_at is not null;
create index issued_certs_list_signing_cert_expiry_idx
  on issued_certs (signing_cert_id, not_after, id) where revoked_at is null;
create index issued_certs_list_signing_cert_revoked_expiry_idx
  on issued_certs (signing_cert_id, not_after, id) where revoked_at is not null;
create index issued_certs_list_acme_key_signing_cert_idx
  on issued_certs (acme_key_id, signing_cert_id, id);
create index issued_certs_list_acme_key_signing_cert_revoked_idx
  on issued_certs (acme_key_id, signing_cert_id, id) where revoked_at is not null;
create index issued_certs_list_acme_key_signing_cert_expiry_idx
  on issued_certs (acme_key_id, signing_cert_id, not_after, id) where revoked_at is null;
create index issued_certs_list_acme_key_signing_cert_revoked_expiry_idx
  on issued_certs (acme_key_id, signing_cert_id, not_after, id) where revoked_at is not null;
create index issued_certs_list_directory_signing_cert_idx
  on issued_certs (directory_id, signing_cert_id, id);
create index issued_certs_list_directory_signing_cert_revoked_idx
  on issued_certs (directory_id, signing_cert_id, id) where revoked_at is not null;
create index issued_certs_list_directory_signing_cert_expiry_idx
  on issued_certs (directory_id, signing_cert_id, not_after, id) where revoked_at is null;
create index issued_certs_list_directory_signing_cert_revoked_expiry_idx
  on issued_certs (directory_id, signing_cert_id, not_after, id) where revoked_at is not null;

create trigger issued_certs_immutable
  before update of id, order_id, acme_key_id, directory_id, signing_cert_id, not_before, not_after,
                   serial, key_thumbprint, subjects, der on issued_certs
  for each row execute function refuse_change('a certificate never changes');

-- FIN-7, KEY-7: a key is an account's or a certificate's, never both, whoever comes first. Who makes it an account's waits
-- here for those who reserve an order with it (reserveOrder takes the lock, shared, and gives way where it is taken), and
-- then looks, in a new snapshot, at what they reserved. Who completes an order looks at used_keys once more.
create function refuse_certificate_key() returns trigger language plpgsql as $$
begin
  perform pg_advisory_xact_lock(7638, ('x' || encode(substring(new.thumbprint from 1 for 4), 'hex'))::bit(32)::integer);
  if exists (select from issued_certs where key_thumbprint = new.thumbprint)
     or exists (select from orders where state = 'processing' and key_thumbprint = new.thumbprint) then
    raise exception 'the key is that of a certificate'
      using errcode = 'restrict_violation', table = tg_table_name, constraint = tg_name;
  end if;
  return new;
end
$$;

create trigger used_keys_not_of_certificate before insert on used_keys
  for each row when (new.why = 'account') execute function refuse_certificate_key();

-- One row per name of a certificate: the filter by exact name pages through this primary key in the order of ids.
create table issued_cert_names (
  name            text collate "C" not null,
  issued_cert_id  uuid not null,

  primary key (name, issued_cert_id)
);

create trigger issued_cert_names_immutable before update of name, issued_cert_id on issued_cert_names
  for each row execute function refuse_change('the names of a certificate never change');


-- Revocation ----------------------------------------------------------------------------------------------------------

-- Leaves and child CA certificates alike, narrow, so that building a CRL never reads certificates.
create table revocations (
  signing_cert_id  uuid not null references signing_certs (id),
  serial           bytea not null,
  revoked_at       timestamptz not null,
  changed_at       timestamptz not null,       -- when the row was written, or its reason upgraded (REV-3)
  not_after        timestamptz not null,
  entry            bytea not null,             -- DER, as it stands in the CRL

  primary key (signing_cert_id, serial)
);

-- Has anything changed since the CRL was made? Finds the CRLs that a crash left without their mark.
create index revocations_changed_at_idx on revocations (signing_cert_id, changed_at);

create trigger revocations_immutable before update of signing_cert_id, serial, revoked_at, not_after on revocations
  for each row execute function refuse_change('only the reason of a revocation changes');

create table crls (
  signing_cert_id  uuid not null primary key references signing_certs (id),
  uploaded         boolean not null default false,  -- made elsewhere, for an offline CA
  number           numeric(49),                -- a CRL number has up to 20 octets
  this_update      timestamptz,
  next_update      timestamptz,
  sha256           bytea,
  der              bytea,                      -- null until the first one is made
  dirty_since      timestamptz,
  due_at           timestamptz,
  lease_until      timestamptz,
  attempts         integer not null default 0,

  constraint crls_complete_check check (num_nulls(number, this_update, next_update, sha256, der) in (0, 5))
) with (fillfactor = 50);                      -- few rows, marked very often

alter table crls alter column der set storage external;

create index crls_due_idx on crls (due_at);

create trigger crls_immutable before update of signing_cert_id on crls
  for each row execute function refuse_change('these columns never change');

create trigger crls_number_grows before update of number on crls
  for each row when (new.number <= old.number or (new.number is null and old.number is not null))
  execute function refuse_change('a CRL number only grows');

-- A signer is a row before it is a key: whatever a crash interrupts, the next one finds the id and goes on with it.
create table ocsp_signers (
  id               uuid not null primary key,
  signing_cert_id  uuid not null references signing_certs (id),
  key_ref          text collate "C" not null,
  not_after        timestamptz,                -- null, as der: it is still to be made
  der              bytea,
  due_at           timestamptz,                -- when it is made, then its successor, then it is removed
  lease_until      timestamptz,
  attempts         integer not null default 0,

  constraint ocsp_signers_certificate_check check ((der is null) = (not_after is null))
);

alter table ocsp_signers alter column der set storage external;

-- Of several that want one at once, all make the same.
create unique index ocsp_signers_planned_key on ocsp_signers (signing_cert_id) where der is null;

create index ocsp_signers_signing_cert_idx  on ocsp_signers (signing_cert_id, not_after);
create index ocsp_signers_due_idx           on ocsp_signers (due_at);

create trigger ocsp_signers_immutable before update of id, signing_cert_id, key_ref on ocsp_signers
  for each row execute function refuse_change('these columns never change');

create trigger ocsp_signers_certificate_fixed before update of not_after, der on ocsp_signers
  for each row when (old.der is not null) execute function refuse_change('the certificate is already there');
