import { type IncomingMessage, type ServerResponse, STATUS_CODES } from "node:http";
import type { PlatformError } from "../../../core/errors/platform-error.ts";
import { failurePage, pageHeaders } from "../web-api/pages/pages.ts";
import { errorBody, httpStatus } from "../web-api/server/answer-errors.ts";
import { ownHeaders } from "./hand-off-page.ts";

export interface Refusal {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly error: PlatformError;
  /** The proxy's page that signs a browser in. */
  readonly launch: string;
}

/**
 * Refuses a request: a page for people, JSON for scripts. A browser without a session, or with one that needs a code, is sent to sign in; scripts could not follow it to
 * another site, and get the status with the address.
 */
export function answerRefusal({ request, response, error, launch }: Refusal): void {
  const isSignIn = error.code === "unauthenticated" || error.code === "mfa_required";
  if (isNavigation(request.headers)) {
    if (isSignIn) return void response.writeHead(303, { ...ownHeaders, Location: launch }).end();
    return void response.writeHead(statusOf(error), { ...ownHeaders, ...pageHeaders() }).end(failurePage(error));
  }
  const body = { ...errorBody(error), ...(isSignIn && { launch_url: launch }) };
  response.writeHead(statusOf(error), { ...ownHeaders, "Content-Type": "application/json; charset=utf-8" }).end(JSON.stringify(body));
}

/** Whether the browser shows the answer as a page of its own. Browsers state it; others by what they accept. Pure. */
export function isNavigation(headers: IncomingMessage["headers"]): boolean {
  const { "sec-fetch-mode": mode, "sec-fetch-dest": destination, accept = "" } = headers;
  if (mode !== undefined) return mode === "navigate" && (destination === undefined || destination === "document");
  return accept.split(",").some((one) => one.trim().toLowerCase().startsWith("text/html"));
}

/** The refusal of a request for another protocol, whose connection ends with it. Pure. */
export function refusalText(error: PlatformError): string {
  const body = JSON.stringify(errorBody(error));
  const status = statusOf(error);
  const fields = { ...ownHeaders, "Content-Type": "application/json; charset=utf-8", "Content-Length": Buffer.byteLength(body), Connection: "close" };
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}\r\n${lines.join("")}\r\n${body}`;
}

/** What the proxy cannot get through to is a bad gateway, and not its own failure. */
function statusOf({ code }: PlatformError): number {
  return code === "unavailable" ? 502 : httpStatus[code];
}
