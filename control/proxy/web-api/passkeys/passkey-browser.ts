import type { FastifyRequest } from "fastify";
import type { AssertionJson } from "../../../../core/api/web/passkeys.ts";
import { PlatformError } from "../../../../core/errors/platform-error.ts";
import type { HostPort } from "../../../../core/transport/host-port.ts";
import { cookieValue, ownCookiePrefix, setCookie } from "../cookies.ts";
import { type PingFacts, publicAddress } from "../ping.ts";

/** Binds the challenge of a login to the browser that asked for it. */
const browserCookie = `${ownCookiePrefix}passkey`;
/** Time to answer a challenge, s; the auth service decides. */
export const answerSeconds = 300;
/**
 * The proxy's public address, if the browser is there: a passkey belongs to its host. The address is the configured one; what the request says is only compared
 * with it. Throws `unsupported` elsewhere.
 */
export function passkeySite({ headers }: Pick<FastifyRequest, "headers">, facts: Pick<PingFacts, "publicAddr" | "nodename" | "webListen">): HostPort {
  const { host: configured, port } = publicAddress(facts);
  const host = configured.toLowerCase();
  const address = port === 443 ? host : `${host}:${port}`;
  if ((headers.host ?? "").toLowerCase().replace(/:443$/, "") === address) return { host, port };
  throw new PlatformError("unsupported", `passkeys work at https://${address} alone`, {
    hint: "open that address, or log in with password and code",
  });
}

/** The secret of the browser's cookie for logins with passkeys. Throws `denied` without one. */
export function passkeyBrowser(cookie: string | undefined): string {
  const browser = waitingBrowser(cookie);
  if (browser !== undefined) return browser;
  throw new PlatformError("denied", "this login with a passkey was not started in this browser, or too long ago", { hint: "try again" });
}

/** The same; undefined without one. */
export function waitingBrowser(cookie: string | undefined): string | undefined {
  const value = cookieValue(cookie, browserCookie);
  return value !== undefined && /^[A-Za-z0-9_-]{43}$/.test(value) ? value : undefined;
}

/** An assertion as the auth API has it. */
export function assertionMessage({ id, response }: AssertionJson) {
  return {
    credentialId: fromBase64(id),
    clientData: fromBase64(response.clientDataJSON),
    authenticatorData: fromBase64(response.authenticatorData),
    signature: fromBase64(response.signature),
    userHandle: fromBase64(response.userHandle ?? ""),
  };
}

/** The cookie of `passkeyBrowser`. */
export function passkeyCookie(browser: string): string {
  return setCookie(browserCookie, browser, { sameSite: "Strict", maxAge: answerSeconds });
}

export function toBase64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("base64url");
}

export function fromBase64(text: string): Buffer {
  return Buffer.from(text, "base64url");
}
