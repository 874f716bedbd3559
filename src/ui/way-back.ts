// Where to go on after signing in: nowhere but to a page of /ui, whatever stands in the address.

const LONGEST = 1_000;
const PATH = /^\/ui(?:\/[\w/-]*)?(?:\?[\w&=%.:+*~-]*)?$/;
/** They are no pages to go back to. */
const NO_PAGE = /^\/ui\/sign/;

/** The path where it is one, else the overview. */
export const inUi = (text: string): string =>
  text.length <= LONGEST && PATH.test(text) && !text.includes('//') && !NO_PAGE.test(text) ? text : '/ui';
