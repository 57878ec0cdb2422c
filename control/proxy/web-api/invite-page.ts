import type { PlatformError } from "../../../core/errors/platform-error.ts";
import { escapeHtml, page } from "./page.ts";

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
<li>Choose a password and enter the six digits that the app shows:
<form method="post" autocomplete="off">
<input type="hidden" name="username" value="${escapeHtml(user)}" autocomplete="username">
<label for="password">Password <span class="quiet">(12 to 128 characters)</span></label>
<input id="password" name="password" type="password" autocomplete="new-password" required minlength="12" maxlength="128">
<label for="repeat">Password again</label>
<input id="repeat" name="repeat" type="password" autocomplete="new-password" required minlength="12" maxlength="128">
<label for="code">Code</label>
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
<p>Your password and your authenticator work now. Log in from your computer with:</p>
<pre>tsh login ${command}</pre>
<p class="quiet">This link has been used up and can be forgotten.</p>`,
  );
}

/** The page for an unknown or used link. */
export function refusedPage(error: PlatformError): string {
  return page("This link does not work", `<h1>This link does not work</h1>\n${errorBox(error)}`);
}

function errorBox({ message, hint }: PlatformError): string {
  const capital = message.charAt(0).toUpperCase() + message.slice(1);
  return `<p class="error" role="alert">${escapeHtml(capital)}.${hint === undefined ? "" : `<br>${escapeHtml(hint)}`}</p>`;
}
