// The colours that all pages for people share, in light and in dark: text on its background has a contrast of 4.5 to 1 or more.

export const theme = `
:root {
  color-scheme: light dark;
  --text: #1c2127; --soft: #57606b; --line: #dde1e6; --edge: #7d8794; --back: #fdfdfc; --panel: #f4f5f7; --code: #f1f3f5; --mark: #0a56b0;
  --good: #176437; --good-back: #e4f3e9; --wait: #744b00; --wait-back: #fcf1d8;
  --bad: #9f1f1c; --bad-back: #fdebea; --off: #4b545f; --off-back: #eaedf0;
}
@media (prefers-color-scheme: dark) {
  :root {
    --text: #e4e8ec; --soft: #a5afba; --line: #2b333c; --edge: #6b7683; --back: #11151a; --panel: #181d23; --code: #1b2129; --mark: #8bb9ff;
    --good: #86d6a2; --good-back: #12301e; --wait: #f1c672; --wait-back: #33280f;
    --bad: #ffa39c; --bad-back: #3b1917; --off: #b5bec8; --off-back: #262d35;
  }
}
* { box-sizing: border-box; }
a { color: var(--mark); }
:focus-visible { outline: 2px solid var(--mark); outline-offset: 2px; }
`;
