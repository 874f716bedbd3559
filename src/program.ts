// Where this program runs from: its source tree, or one bundled file beside which lies what is not code.
import { readFileSync } from 'node:fs';

/** How a person starts a command of this program. */
export const startedBy = import.meta.url.endsWith('.ts') ? 'npm run -s acmery --' : 'npx acmery';

/** The text of a file of ours, by its path below src/; the bundle has it at the same path beside itself. */
export const readOwnFile = (path: string): string => readFileSync(new URL(path, import.meta.url), 'utf8');
