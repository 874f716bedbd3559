// THE table of /ui: every page, whose permission it asks for, and what of /v1 it shows. Pages only read. The pages
// themselves are loaded when the first of them is asked for.
import type { Permission } from '../core/caller.ts';
import type { LinkedKind } from './parts/links.ts';

export type UiPage = {
  readonly path: string;
  readonly name: PageName;
  /** The highest that one of `shows` asks for. */
  readonly permission: Permission;
  /** Operations of /v1, by their operationId: nobody sees here what they would refuse. */
  readonly shows: readonly string[];
  /** Whose id stands in the path as `:id`. */
  readonly of?: LinkedKind;
};

export type PageName =
  | 'overview'
  | 'caTree'
  | 'caCert'
  | 'directories'
  | 'directory'
  | 'orders'
  | 'order'
  | 'issuedCerts'
  | 'issuedCert'
  | 'acmeKeys'
  | 'acmeKey'
  | 'search';

export const uiPages: readonly UiPage[] = [
  {
    path: '/ui',
    name: 'overview',
    permission: 'read',
    // Of CA certs it shows those who may list them what they see at /ui/signing_certs.
    shows: ['listDirectories', 'listOrders', 'listIssuedCerts'],
  },
  { path: '/ui/signing_certs', name: 'caTree', permission: 'admin', shows: ['listSigningCerts', 'listDirectories'] },
  {
    path: '/ui/signing_certs/:id',
    name: 'caCert',
    permission: 'admin',
    shows: ['getSigningCert', 'listSigningCerts', 'listDirectories', 'getSigningCertRollover'],
    of: 'signing_cert',
  },
  {
    path: '/ui/directories',
    name: 'directories',
    permission: 'read',
    shows: ['listDirectories', 'listAcmeKeys', 'listExternalBindings', 'listOrders', 'listIssuedCerts'],
  },
  {
    path: '/ui/directories/:id',
    name: 'directory',
    permission: 'read',
    shows: ['getDirectory', 'listAcmeKeys', 'listExternalBindings', 'listOrders', 'listIssuedCerts'],
    of: 'directory',
  },
  { path: '/ui/orders', name: 'orders', permission: 'read', shows: ['listOrders', 'getOrder', 'listDirectories'] },
  { path: '/ui/orders/:id', name: 'order', permission: 'read', shows: ['getOrder'], of: 'order' },
  { path: '/ui/issued_certs', name: 'issuedCerts', permission: 'read', shows: ['listIssuedCerts', 'listDirectories'] },
  {
    path: '/ui/issued_certs/:id',
    name: 'issuedCert',
    permission: 'read',
    shows: ['getIssuedCert', 'downloadIssuedCert'],
    of: 'issued_cert',
  },
  { path: '/ui/acme_keys', name: 'acmeKeys', permission: 'read', shows: ['listAcmeKeys'] },
  {
    path: '/ui/acme_keys/:id',
    name: 'acmeKey',
    permission: 'read',
    shows: ['getAcmeKey', 'listOrders'],
    of: 'acme_key',
  },
  {
    path: '/ui/search',
    name: 'search',
    permission: 'read',
    shows: ['listIssuedCerts', 'listAcmeKeys', 'listDirectories'],
  },
];
