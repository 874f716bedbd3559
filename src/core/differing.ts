// What an update really changes.

/** All but what was not sent. */
type Sent<Wanted> = { [Name in keyof Wanted]?: NonNullable<Wanted[Name]> | (Wanted[Name] & null) };

/** What differs of that which was sent: a resource sent back as it was read changes nothing. */
export function differing<Wanted extends object>(
  seen: { readonly [Name in keyof Wanted]: unknown },
  wanted: Wanted,
): Sent<Wanted> {
  const changes: Sent<Wanted> = {};
  for (const name in wanted) {
    const value = wanted[name];
    if (value !== undefined && JSON.stringify(value) !== JSON.stringify(seen[name])) changes[name] = value;
  }
  return changes;
}
