import type { FastifyInstance } from "fastify";
import { inlineHash } from "./pages/inline-hash.ts";
import { pageStyle } from "./pages/page-style.ts";

/**
 * The page of the proxy's site that signs a browser in to an application; the application's site sends browsers here. It logs the user in if necessary, visits the
 * application's site, which returns with the secret of an attempt (`#platform-state=`), and goes there again with a new session. With `next` it was sent here for
 * an application that belongs to others. All secrets are in fragments, which no server sees. Where a role demands a code for each session, it asks for one and goes the
 * way again; the tab keeps what the code has confirmed until then.
 */
const script = `
const host = decodeURIComponent(location.pathname.slice("/web/launch/".length));
const query = new URLSearchParams(location.search);
const attempt = /^#platform-state=(.*)$/.exec(location.hash)?.[1];
const fragment = attempt === undefined ? location.hash.slice(1) : "";
history.replaceState(null, "", location.pathname + location.search);
const element = (id) => document.getElementById(id);
const show = (text) => { element("status").textContent = text; };

async function call(path, { method = "GET", body, token } = {}) {
  const headers = { Accept: "application/json" };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  if (token !== undefined) headers.Authorization = "Bearer " + token;
  const answer = await window.fetch("/webapi/v1" + path, { method, headers, body: JSON.stringify(body), cache: "no-store", redirect: "error" });
  const read = await answer.json();
  if (answer.ok) return read;
  throw Object.assign(new Error(read.error.message), read.error);
}

function inWords({ message, hint }) {
  return message.charAt(0).toUpperCase() + message.slice(1) + "." + (hint === undefined ? "" : " " + hint.charAt(0).toUpperCase() + hint.slice(1) + ".");
}

function reasonOf(error) {
  return error.code === undefined ? "Could not reach the proxy. Reload the page to try again." : inWords(error);
}

/** Shows the form, and calls "send" with what was entered until it succeeds. */
function entered(text, send) {
  return new Promise((resolve) => {
    const form = element("login");
    form.hidden = false;
    show(text);
    const submit = async (event) => {
      event.preventDefault();
      const fields = Object.fromEntries(new FormData(form));
      element("submit").disabled = true;
      try {
        const answer = await send({ ...fields, code: fields.code.replaceAll(" ", "") });
        form.hidden = true;
        form.removeEventListener("submit", submit);
        show("Signing in …");
        resolve(answer);
      } catch (error) {
        show(reasonOf(error));
        element("code").value = "";
        element("code").focus();
      }
      element("submit").disabled = false;
    };
    form.addEventListener("submit", submit);
  });
}

async function loggedIn() {
  const answer = entered("Log in to open " + host + ".", (body) => call("/sessions", { method: "POST", body }));
  element("user").focus();
  return (await answer).token;
}

async function tokenOf() {
  try {
    return (await call("/session")).token;
  } catch (error) {
    if (error.code === "unauthenticated") return await loggedIn();
    throw error;
  }
}

const listed = (query.get("next") ?? "").split(",").filter((one) => one !== "");

/** Where the browser goes on to if it may not use this application, which others need. */
function offerRest() {
  const [following, ...rest] = listed;
  if (following === undefined) return;
  const link = element("go-on");
  link.href = "/web/launch/" + encodeURIComponent(following) + "?" + new URLSearchParams({ path: query.get("path") ?? "/", next: rest.join(",") });
  link.textContent = "Open " + listed[listed.length - 1] + " without it";
  link.hidden = false;
}

async function begin(token) {
  const { start, required } = await call("/app-sites/" + encodeURIComponent(host), { token });
  // The fragment of the address that the browser was sent here from.
  const path = (query.get("path") ?? "/") + (fragment === "" || (query.get("path") ?? "").includes("#") ? "" : "#" + fragment);
  if (!query.has("next") && required.length > 0) {
    const [first, ...rest] = [...required, host];
    return location.replace("/web/launch/" + encodeURIComponent(first) + "?" + new URLSearchParams({ path, next: rest.join(",") }));
  }
  location.replace(start + "?" + new URLSearchParams({ path, next: listed.join(",") }));
}

// One try: it leaves the page with the answer. The way back to the application is begun again after a code, as an attempt lasts for a minute only.
const kept = "confirmation of " + host;

async function confirmed(token) {
  element("who").hidden = true;
  element("who").disabled = true;
  element("submit").textContent = "Open";
  const send = ({ code }) => call("/confirmations", { method: "POST", body: { for: { type: "app", host }, code }, token });
  const answer = entered("Enter the code of your authenticator to open " + host + ".", send);
  element("code").focus();
  const { confirmation } = await answer;
  sessionStorage.setItem(kept, confirmation);
  await begin(token);
}

async function openSession(token) {
  const confirmation = sessionStorage.getItem(kept) ?? undefined;
  try {
    const opened = await call("/app-sessions", { method: "POST", body: { host, confirmation }, token });
    sessionStorage.removeItem(kept);
    return opened;
  } catch (error) {
    // Without an answer it may be unused: a reload of the page tries again.
    if (error.code !== undefined) sessionStorage.removeItem(kept);
    throw error;
  }
}

async function finish(token) {
  const { session, subject, auth } = await openSession(token);
  const facts = new URLSearchParams({ state: attempt, session, subject, path: query.get("path") ?? "/", next: listed.join(",") });
  location.replace(auth + "#" + facts);
}

async function run() {
  const token = await tokenOf();
  if (attempt === undefined) return await begin(token);
  try {
    await finish(token);
  } catch (error) {
    if (error.code !== "mfa_required") throw error;
    offerRest();
    await confirmed(token);
  }
}

try {
  await run();
} catch (error) {
  show(reasonOf(error));
  offerRest();
}
`;

const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Open an application</title>
<link rel="icon" href="data:,">
<style>${pageStyle}</style>
</head>
<body>
<main class="narrow">
<h1>Open an application</h1>
<p id="status" role="status">Signing in …</p>
<form id="login" hidden>
<fieldset id="who">
<label for="user">User</label>
<input id="user" name="user" autocomplete="username" required maxlength="64" spellcheck="false" autocapitalize="none">
<label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="current-password" required maxlength="128">
</fieldset>
<label for="code">Code from your authenticator app</label>
<input id="code" name="code" inputmode="numeric" autocomplete="one-time-code" pattern="[0-9 ]*" required maxlength="16">
<button id="submit" type="submit">Log in</button>
</form>
<p><a id="go-on" hidden href="/web/">Go on</a></p>
</main>
<script type="module">${script}</script>
</body>
</html>
`;

const policy = [
  "default-src 'none'",
  // Its empty icon: Firefox would ask for one.
  "img-src data:",
  `script-src ${inlineHash(script)}`,
  `style-src ${inlineHash(pageStyle)}`,
  "connect-src 'self'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ");

/** `GET /web/launch/<host>`: the same page for every host name, whether or not there is an application. */
export function launchPageRoute(app: FastifyInstance): void {
  app.get("/web/launch/:host", async (_request, reply) => {
    const headers = { "Content-Type": "text/html; charset=utf-8", "Content-Security-Policy": policy, "Cross-Origin-Opener-Policy": "same-origin" };
    return await reply.headers(headers).send(html);
  });
}
