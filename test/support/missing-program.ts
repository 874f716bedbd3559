// Programs of the machine that a test cannot do without.
import { access, constants } from 'node:fs/promises';
import { delimiter, join } from 'node:path';

/** Which one is not here, in words for a skip; undefined where all are. */
export async function missingProgram(names: readonly string[]): Promise<string | undefined> {
  const folders = (process.env.PATH ?? '').split(delimiter);
  for (const name of names) {
    const looks = folders.map((folder) =>
      access(join(folder, name), constants.X_OK).then(
        () => true,
        () => false,
      ),
    );
    if (!(await Promise.all(looks)).includes(true)) return `${name} is not installed`;
  }
  return undefined;
}
