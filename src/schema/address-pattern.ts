// What an IP address or range looks like, for those who have patterns only. Read alike by RE2 and JavaScript.

const OCTET = '(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])';
const V4 = `(${OCTET}\\.){3}${OCTET}`;
const H = '[0-9a-fA-F]{1,4}';
/** The last 32 bits. */
const TAIL = `(${H}:${H}|${V4})`;
/** IPv6address of RFC 3986 section 3.2.2: `::` stands for whatever is missing. */
const V6 = [
  `(${H}:){6}${TAIL}`,
  `::(${H}:){5}${TAIL}`,
  `(${H})?::(${H}:){4}${TAIL}`,
  `((${H}:){0,1}${H})?::(${H}:){3}${TAIL}`,
  `((${H}:){0,2}${H})?::(${H}:){2}${TAIL}`,
  `((${H}:){0,3}${H})?::${H}:${TAIL}`,
  `((${H}:){0,4}${H})?::${TAIL}`,
  `((${H}:){0,5}${H})?::${H}`,
  `((${H}:){0,6}${H})?::`,
].join('|');

export const ADDRESS_RANGE = `^(${V4}(/(3[0-2]|[12]?[0-9]))?|(${V6})(/(12[0-8]|1[01][0-9]|[1-9]?[0-9]))?)$`;
