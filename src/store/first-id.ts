// Ids as times: a UUIDv7 begins with 48 bits of milliseconds, so a range of ids is a range of time.

/** The smallest uuid of that time. */
export const firstId = (time: number): string =>
  time
    .toString(16)
    .padStart(12, '0')
    .replace(/^(.{8})(.{4})$/, '$1-$2-0000-0000-000000000000');
