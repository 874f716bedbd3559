// Who acts, and what they may do. Audit records name actors as they stand here.

export const permissions = ['read', 'write', 'admin'] as const;
export type Permission = (typeof permissions)[number];

export const actorKinds = [
  'api_token',
  'bootstrap',
  'service_account',
  'acme_key',
  'custom_resource',
  'command',
  'service',
] as const;

export type Actor = {
  readonly kind: (typeof actorKinds)[number];
  /** An API token's id, a ServiceAccount's user name, `namespace/name` of a custom resource, who ran a command. */
  readonly name: string;
  readonly requestId?: string;
};

/** An actor who asked for something that needs a permission. */
export type Caller = Actor & { readonly permission: Permission };

/** Levels nest: admin includes write includes read. */
export const mayDo = (caller: Caller, needed: Permission): boolean =>
  permissions.indexOf(caller.permission) >= permissions.indexOf(needed);
