import { hash } from "node:crypto";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { FileQuery } from "../../../core/api/web/files.ts";
import { cookieValue, ownCookiePrefix, setCookie } from "./cookies.ts";

/* What a page has confirmed by a code comes in a header of its calls. A download is a link, which has none: the call before it leaves a cookie for that one file. */

/** Of the calls of a page (web/api/request.ts). */
const confirmationHeader = "platform-confirmation";
/** As the auth service makes them. */
const written = /^[\w-]{1,64}$/;
/** Time for the browser to follow the link, s. */
const linkSeconds = 60;

/** The confirmation of a call; undefined: the page has none. */
export function pageConfirmation({ headers }: Pick<FastifyRequest, "headers">): string | undefined {
  const value = headers[confirmationHeader];
  return typeof value === "string" && written.test(value) ? value : undefined;
}

/** Lets the link to this file be followed once, within a minute. */
export function allowLink(reply: FastifyReply, file: FileQuery, confirmation: string | undefined): void {
  if (confirmation !== undefined) reply.header("Set-Cookie", setCookie(cookieOf(file), confirmation, { sameSite: "Strict", maxAge: linkSeconds }));
}

/** The confirmation of a link to this file, whose cookie it removes. */
export function linkConfirmation({ headers }: Pick<FastifyRequest, "headers">, reply: FastifyReply, file: FileQuery): string | undefined {
  const name = cookieOf(file);
  const value = cookieValue(headers.cookie, name);
  if (value === undefined || !written.test(value)) return undefined;
  reply.header("Set-Cookie", setCookie(name, value, { sameSite: "Strict", maxAge: 0 }));
  return value;
}

function cookieOf({ node, login, path = "", bytes = "" }: FileQuery): string {
  return `${ownCookiePrefix}file_${hash("sha256", JSON.stringify([node, login, path, bytes])).slice(0, 16)}`;
}
