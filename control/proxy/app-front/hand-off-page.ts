import { inlineHash } from "../web-api/pages/inline-hash.ts";

/**
 * The page at an application's host name that takes the session over: the secrets come in the fragment, which no server and no Referer sees, and leave the
 * address before anything else happens. Its cookies are set here, by the site that they are for: no browser refuses them as another site's.
 */
const script = `
const facts = new URLSearchParams(location.hash.slice(1));
history.replaceState(null, "", location.pathname);
const fail = (text) => { document.querySelector("p").textContent = text; };
const field = (name) => facts.get(name) ?? "";
const next = field("next").split(",").filter((host) => host !== "");
const body = { state: field("state"), session: field("session"), subject: field("subject"), path: field("path"), next };
window.fetch(location.pathname, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body), redirect: "error" })
  .then(async (answer) => {
    const read = await answer.json();
    if (answer.ok) location.replace(read.location);
    else fail(read.error.message + ". " + (read.error.hint ?? ""));
  })
  .catch(() => fail("Could not reach the proxy. Go back, and try again."));
`;

export const handOffPage = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Signing in</title>
<link rel="icon" href="data:,">
<p role="status">Signing in …</p>
<script>${script}</script>
</html>
`;

/** Headers of every answer that the proxy itself gives at the host name of an application. */
export const ownHeaders: Readonly<Record<string, string>> = {
  "Cache-Control": "no-store",
  "Referrer-Policy": "no-referrer",
  "X-Content-Type-Options": "nosniff",
  "X-Frame-Options": "DENY",
  "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
};

export const handOffHeaders: Readonly<Record<string, string>> = {
  ...ownHeaders,
  "Content-Type": "text/html; charset=utf-8",
  "Cross-Origin-Opener-Policy": "same-origin",
  "Content-Security-Policy": `default-src 'none'; script-src ${inlineHash(script)}; connect-src 'self'; img-src data:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'`,
};
