import type { PlatformError } from "../../../../core/errors/platform-error.ts";
import { inlineHash } from "./inline-hash.ts";
import { pageStyle } from "./page-style.ts";

/* The pages for browsers, and the frame that they share. */

interface HomeFacts {
  readonly clusterName: string;
  /** `host:port` */
  readonly proxy: string;
  /** Needed to log in where users' machines do not trust the web certificate; empty: not shown. */
  readonly caPins: readonly string[];
  readonly version: string;
  /** This proxy serves packages. */
  readonly servesPackages: boolean;
}

/** The page for browsers: the cluster, and how to log in. */
export function homePage({ clusterName, proxy, caPins, version, servesPackages }: HomeFacts): string {
  const options = [`--proxy=${proxy}`, "--user=…"].map((option) => `<span>${escapeHtml(option)}</span>`).join(" ");
  const pins = caPins.map((pin) => `<span>${escapeHtml(`--ca-pin=${pin}`)}</span>`).join(" ");
  const site = proxy.replace(/:443$/, "");
  const script = `curl -fsS https://${site}/scripts/install.sh | sudo sh -s -- ${version} enterprise`;
  return page(
    clusterName,
    `<h1>${escapeHtml(clusterName)}</h1>
<p>Hosts, databases and applications are reached through here: with this browser, or with the program <code>tsh</code>.</p>
<p><a href="/web">Log in with this browser</a></p>
<h2>Log in with <code>tsh</code></h2>
<pre>tsh login ${options}</pre>
${pins === "" ? "" : `<p class="quiet">If <code>tsh</code> does not trust the certificate of this page, add: <code class="secret">${pins}</code></p>`}
<p>No account yet? Ask an administrator of ${escapeHtml(clusterName)} for an invite link.</p>
<h2>Get <code>tsh</code></h2>
${
  servesPackages
    ? `<p>On Linux it is in the package <code>platform-ent</code>, which this installs:</p>
<pre>${escapeHtml(script)}</pre>
<p class="quiet">Read <a href="/scripts/install.sh">the script</a> before you run it. To log in from this computer you need not configure or start the service that it installs.</p>
<p>On macOS, and wherever Node.js is:</p>
<pre>${escapeHtml(`npm install --global https://${site}/packages/client/platform-client.tgz`)}</pre>`
    : `<p>On Linux it is in the package <code>platform-ent</code>, which your administrator has.</p>`
}
<p class="quiet">Version ${escapeHtml(version)}</p>`,
  );
}

export interface InviteFacts {
  readonly user: string;
  readonly clusterName: string;
  /** SVG of the QR code. */
  readonly picture: string;
  readonly secret: string;
  /** `otpauth://…`: the content of the QR code, for an app on the same device. */
  readonly uri: string;
  /** The error of the last attempt. */
  readonly error?: PlatformError | undefined;
}

/** The form of an invite: second factor, password, code. */
export function invitePage({ user, clusterName, picture, secret, uri, error }: InviteFacts): string {
  return page(
    `Welcome to ${clusterName}`,
    `<h1>Welcome to ${escapeHtml(clusterName)}, ${escapeHtml(user)}</h1>
${error === undefined ? "" : errorBox(error)}
<ol>
<li>Scan this with an authenticator app:
<figure role="img" aria-label="QR code of the secret below">${picture}</figure>
<p class="quiet">No camera? <a href="${escapeHtml(uri)}">Open the app on this device</a>, or type the secret into it:
<code class="secret">${escapeHtml(secret)}</code></p></li>
<li>Choose a password, and enter the six digits that the app shows:
<form method="post" autocomplete="off">
<input type="hidden" name="username" value="${escapeHtml(user)}" autocomplete="username">
<label for="password">Password <span class="quiet">12 to 128 characters</span></label>
<input id="password" name="password" type="password" autocomplete="new-password" required minlength="12" maxlength="128">
<label for="repeat">Password again</label>
<input id="repeat" name="repeat" type="password" autocomplete="new-password" required minlength="12" maxlength="128">
<label for="code">Code <span class="quiet">from your authenticator app</span></label>
<input id="code" name="code" inputmode="numeric" autocomplete="one-time-code" pattern="[0-9 ]*" required maxlength="16">
<button type="submit">Finish</button>
</form></li>
</ol>`,
  );
}

export interface AcceptedFacts {
  readonly user: string;
  readonly clusterName: string;
  /** host:port */
  readonly proxy: string;
  readonly caPins: readonly string[];
}

/** The page after success: the command to type next. */
export function acceptedPage({ user, clusterName, proxy, caPins }: AcceptedFacts): string {
  const options = [`--proxy=${proxy}`, `--user=${user}`, ...caPins.map((pin) => `--ca-pin=${pin}`)];
  const command = options.map((option) => `<span>${escapeHtml(option)}</span>`).join(" ");
  return page(
    `Welcome to ${clusterName}`,
    `<h1>Done, ${escapeHtml(user)}</h1>
<p>Your password and your authenticator work now.</p>
<p><a href="/web">Log in with this browser</a></p>
<p>Or log in from your computer with:</p>
<pre>tsh login ${command}</pre>
<p class="quiet">This link has been used up and can be forgotten.</p>`,
  );
}

/** The page for an unknown or used link. */
export function refusedPage(error: PlatformError): string {
  return page("This link does not work", `<h1>This link does not work</h1>\n${errorBox(error)}`);
}

/** The page for a request that failed. */
export function failurePage(error: PlatformError): string {
  return page("This did not work", `<h1>This did not work</h1>\n${errorBox(error)}`);
}

function errorBox({ message, hint }: PlatformError): string {
  const sentence = (text: string): string => `${escapeHtml(text.charAt(0).toUpperCase() + text.slice(1))}.`;
  return `<p class="error" role="alert">${sentence(message)}${hint === undefined ? "" : `<br>${sentence(hint)}`}</p>`;
}

/** A whole page around `body`, which is HTML. It needs no scripts and no external resources. */
function page(title: string, body: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>${escapeHtml(title)}</title>
<link rel="icon" href="data:,">
<style>${pageStyle}</style>
</head>
<body>
<main>
${body}
</main>
</body>
</html>
`;
}

/** Headers of every page: they allow the style by its hash, forms to this site, and nothing else; a page that opened it cannot lead it elsewhere. */
export function pageHeaders(): Record<string, string> {
  return {
    "Content-Type": "text/html; charset=utf-8",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Content-Security-Policy": `default-src 'none'; style-src ${inlineHash(pageStyle)}; img-src data:; form-action 'self'; frame-ancestors 'none'; base-uri 'none'`,
  };
}

/** Text in HTML, also inside quoted attributes. */
function escapeHtml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;").replaceAll("'", "&#39;");
}
