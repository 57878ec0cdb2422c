import { createHash, createHmac, randomBytes, randomUUID } from "node:crypto";

/**
 * What a browser has of a session: `<id>.<secret>`, the value of its cookie. The id is in audit events and lists; only the secret opens the session, and
 * the auth service stores only its hash.
 */
export interface SessionCredential {
  /** A UUID: also the id of what is recorded of it. */
  readonly id: string;
  /** 32 random bytes, base64url. */
  readonly secret: string;
}

const idShape = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const secretShape = /^[A-Za-z0-9_-]{43}$/;

export function newSessionCredential(): SessionCredential {
  return { id: randomUUID(), secret: randomBytes(32).toString("base64url") };
}

export function formatCredential({ id, secret }: SessionCredential): string {
  return `${id}.${secret}`;
}

/** Undefined: it has another shape, so that no session can have it. */
export function parseCredential(text: string): SessionCredential | undefined {
  const [id = "", secret = "", ...rest] = text.split(".", 3);
  return rest.length === 0 && idShape.test(id) && secretShape.test(secret) ? { id, secret } : undefined;
}

/** Whether a text has the shape of a session's id. */
export function isSessionId(text: string): boolean {
  return idShape.test(text);
}

/** Hash under which the auth service knows a secret; the secret is random, so that a slow hash would add nothing. */
export function secretHash(secret: string): string {
  return createHash("sha256").update(secret).digest("hex");
}

/**
 * The token that scripts of our own site send besides the cookie, against requests that another site makes the browser send. It follows from the
 * session's secret, so that every tab and every proxy has the same; the secret does not follow from it.
 */
export function bearerOf({ id, secret }: SessionCredential): string {
  return createHmac("sha256", secret).update(`bearer of browser session ${id}`).digest("base64url");
}
