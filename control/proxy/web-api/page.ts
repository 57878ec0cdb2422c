import { createHash } from "node:crypto";

/** Text in HTML, also inside quoted attributes. */
export function escapeHtml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;").replaceAll("'", "&#39;");
}

const style = `
:root { color-scheme: light dark; --line: #8886; --accent: #1a56db; --bad: #b42318; }
* { box-sizing: border-box; }
body { font: 16px/1.5 system-ui, sans-serif; margin: 0; padding: 2rem 1rem; }
main { max-width: 30rem; margin: 0 auto; }
h1 { font-size: 1.4rem; margin: 0 0 .5rem; }
h2 { font-size: 1.1rem; margin: 1.5rem 0 .5rem; }
h2 code { font-size: inherit; }
ol { padding-left: 1.2rem; }
li { margin-bottom: 1rem; }
figure { margin: .5rem 0; }
figure svg { width: 13rem; height: 13rem; background: #fff; border: 1px solid var(--line); border-radius: .5rem; display: block; }
label { display: block; margin: .75rem 0 .25rem; font-weight: 600; }
input { width: 100%; font: inherit; padding: .5rem .6rem; border: 1px solid var(--line); border-radius: .4rem; }
button { font: inherit; font-weight: 600; margin-top: 1.25rem; padding: .6rem 1.2rem; border: 0; border-radius: .4rem; background: var(--accent); color: #fff; cursor: pointer; }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
code, pre { font: .9rem/1.5 ui-monospace, monospace; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; border: 1px solid var(--line); border-radius: .4rem; padding: .75rem; }
pre span, .secret span { display: inline-block; max-width: 100%; }
.error { border-left: 4px solid var(--bad); padding: .5rem .75rem; background: #b423181a; border-radius: .2rem; }
.quiet { color: #666; color: light-dark(#555, #aaa); font-size: .9rem; font-weight: 400; margin: .5rem 0; }
.secret { display: block; margin-top: .25rem; overflow-wrap: anywhere; }
a { color: var(--accent); color: light-dark(#1a56db, #8ab0ff); }
`;

/** A whole page around `body`, which is HTML. It needs no scripts and no external resources. */
export function page(title: string, body: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>${escapeHtml(title)}</title>
<style>${style}</style>
</head>
<body>
<main>
${body}
</main>
</body>
</html>
`;
}

/** Headers of every page: they allow the style by its hash, forms to this site, and nothing else. */
export function pageHeaders(): Record<string, string> {
  const hash = createHash("sha256").update(style).digest("base64");
  return {
    "Content-Type": "text/html; charset=utf-8",
    "Content-Security-Policy": `default-src 'none'; style-src 'sha256-${hash}'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'`,
  };
}
