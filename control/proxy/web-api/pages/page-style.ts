/**
 * The style of pages that the proxy writes itself: the colours and forms of the Web UI (web/style), in the light or dark setting of the system. It is inline,
 * allowed by its hash, so that these pages need no other file.
 */
export const pageStyle = `
:root {
  color-scheme: light dark;
  --page: light-dark(#f6f7f9, #14171c);
  --panel: light-dark(#ffffff, #1c2027);
  --raised: light-dark(#ffffff, #232831);
  --text: light-dark(#1a1f28, #e7eaef);
  --quiet: light-dark(#566070, #a3adbb);
  --line: light-dark(#d9dee6, #363d49);
  --field: light-dark(#8a94a3, #6d7785);
  --accent: light-dark(#1f54cf, #8ab0ff);
  --accent-back: light-dark(#1f54cf, #2a5bd0);
  --on-accent: #ffffff;
  --bad: light-dark(#b3261e, #ff9c93);
  --bad-back: light-dark(#fdecea, #3d2322);
  --small: 0.8125rem;
  --radius: 6px;
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--text); font: 0.9375rem/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
main { max-width: 34rem; margin: 12vh auto 2rem; padding: 2rem; background: var(--panel); border: 1px solid var(--line); border-radius: 10px; }
main.narrow { max-width: 24rem; }
h1 { font-size: 1.5rem; line-height: 1.25; margin: 0 0 0.75rem; }
h2 { font-size: 1.125rem; margin: 1.5rem 0 0.5rem; }
h2 code { font-size: inherit; }
ol { padding-left: 1.2rem; margin-bottom: 0; }
li { margin-bottom: 1rem; }
figure { margin: 0.5rem 0; }
figure svg { width: 13rem; height: 13rem; max-width: 100%; background: #fff; border: 1px solid var(--line); border-radius: var(--radius); display: block; }
fieldset { min-width: 0; margin: 0; padding: 0; border: 0; }
label { display: block; margin: 0.875rem 0 0.25rem; font-weight: 600; }
input, button { font: inherit; color: inherit; border: 1px solid var(--field); border-radius: var(--radius); min-height: 2.25rem; }
input { display: block; width: 100%; padding: 0.3125rem 0.5rem; background: var(--raised); }
button { width: 100%; margin-top: 1.25rem; padding: 0.5rem; background: var(--accent-back); border-color: var(--accent-back); color: var(--on-accent); font-weight: 600; cursor: pointer; }
button:disabled { opacity: 0.55; cursor: default; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
code, pre { font-family: ui-monospace, "Cascadia Mono", "DejaVu Sans Mono", monospace; font-size: var(--small); }
pre { white-space: pre-wrap; margin: 0.5rem 0; padding: 0.4375rem 0.625rem; background: var(--page); border: 1px solid var(--line); border-radius: var(--radius); }
pre span, .secret span { display: inline-block; max-width: 100%; }
.error { margin: 0 0 1rem; padding: 0.625rem 0.875rem; border: 1px solid var(--bad); border-radius: var(--radius); background: var(--bad-back); }
.quiet { color: var(--quiet); font-size: var(--small); font-weight: 400; margin: 0.5rem 0; }
label .quiet { font-size: inherit; }
.secret { display: block; margin-top: 0.25rem; }
a { color: var(--accent); }
[hidden] { display: none; }
@media (width < 40rem) {
  main, main.narrow { margin: 0; max-width: none; min-height: 100vh; border: 0; border-radius: 0; padding: 1.25rem; }
}
`;
