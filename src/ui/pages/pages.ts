// What renders each page of the table in routes.ts.
import type { Show } from '../page.ts';
import type { PageName } from '../routes.ts';
import { showAcmeKey, showAcmeKeys } from './acme-keys.ts';
import { showCaCert } from './ca-cert.ts';
import { showCaTree } from './ca-tree.ts';
import { showDirectories } from './directories.ts';
import { showDirectory } from './directory.ts';
import { showIssuedCert } from './issued-cert.ts';
import { showIssuedCerts } from './issued-certs.ts';
import { showOrder } from './order.ts';
import { showOrders } from './orders.ts';
import { showOverview } from './overview.ts';
import { showSearch } from './search.ts';

export const pages: Readonly<Record<PageName, Show>> = {
  overview: showOverview,
  caTree: showCaTree,
  caCert: showCaCert,
  directories: showDirectories,
  directory: showDirectory,
  orders: showOrders,
  order: showOrder,
  issuedCerts: showIssuedCerts,
  issuedCert: showIssuedCert,
  acmeKeys: showAcmeKeys,
  acmeKey: showAcmeKey,
  search: showSearch,
};
