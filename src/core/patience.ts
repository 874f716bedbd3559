// How long somebody waits for work that goes on without him.

/** What the work gives; undefined where it takes longer than this. */
export async function withinMs<T>(ms: number, work: Promise<T>): Promise<T | undefined> {
  const late = Promise.withResolvers<undefined>();
  const patience = setTimeout(() => late.resolve(undefined), ms);
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    clearTimeout(patience);
  }
}
