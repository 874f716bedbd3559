-- What the service needs for itself: API tokens, nonces, rate limits, its own state, the audit log.

create domain permission as text collate "C" check (value in ('read', 'write', 'admin'));

create table api_tokens (
  id            uuid not null primary key,
  name          text collate "C" not null,
  sha256        bytea not null,                -- the token has 256 random bits: a fast hash is enough
  permission    permission not null,
  created_at    timestamptz not null,
  expires_at    timestamptz,
  last_used_on  date,
  revoked_at    timestamptz,

  constraint api_tokens_sha256_key unique (sha256)
);

create trigger api_tokens_immutable before update of id, name, sha256, permission, created_at, expires_at on api_tokens
  for each row execute function refuse_change('these columns never change');

create table service_state (
  key    text collate "C" not null primary key,
  value  jsonb not null
);


-- Unlogged: emptied together by a crash, or on a standby that takes over. Old nonces are then of an unknown key and
-- refused, never accepted twice; a limit starts afresh.

create unlogged table nonce_keys (
  singleton  boolean not null default true primary key,
  kid        text collate "C" not null,
  key        bytea not null,

  constraint nonce_keys_one_row_check check (singleton)
);

create unlogged table spent_nonces (
  nonce  bytea not null primary key            -- begins with the time it was made at: the oldest go by a range
);

create unlogged table rate_limits (
  kind     text collate "C" not null,
  subject  text collate "C" not null,
  full_at  timestamptz not null,               -- a token bucket as one time; no index, so that each hit is a HOT update

  primary key (kind, subject)
) with (fillfactor = 70);


-- Audit ---------------------------------------------------------------------------------------------------------------

create domain actor_kind as text collate "C"
  check (value in ('api_token', 'bootstrap', 'service_account', 'acme_key', 'custom_resource', 'command', 'service'));

-- One partition per month, on ranges of the time-ordered id; the program makes them ahead and drops the old ones. The
-- default partition takes what would have none, so that a record is never refused.
create table audit (
  id           uuid not null primary key,
  actor_kind   actor_kind not null,
  actor        text collate "C" not null,
  action       text collate "C" not null,
  object_kind  text collate "C" not null,
  object_id    uuid,
  request_id   text collate "C",
  detail       jsonb                           -- before and after, without secrets
) partition by range (id);

create table audit_default partition of audit default;

create index audit_list_object_idx  on audit (object_id, id);
create index audit_list_actor_idx   on audit (actor, id);

create trigger audit_append_only before update or delete on audit
  for each row execute function refuse_change('the audit log is append only');
