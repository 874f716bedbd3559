// The manifests of the quickstart in a folder of their own, without what a service that ran there has noted of them.
import { cp } from 'node:fs/promises';
import { basename } from 'node:path';

export const copyQuickstart = (folder: string): Promise<void> =>
  cp('examples/quickstart', folder, { recursive: true, filter: (path) => basename(path) !== '.status' });
