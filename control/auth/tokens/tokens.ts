import { createHash, randomBytes, randomUUID, timingSafeEqual } from "node:crypto";
import { z } from "zod";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { type joinRoles, type OfferLimits, type Token, tokenSchema } from "../../../core/resources/token.ts";
import type { Entry, Put, Write } from "../../storage/storage.ts";
import type { AuthContext } from "../auth-context.ts";
import { type Actor, checkDocument, named, type PutMode } from "../document.ts";
import { readKeySet } from "./service-account-token.ts";

const defaultTtlSeconds = 30 * 60;
const maxTtlSeconds = 10 * 365 * 86_400;
const minSecret = 16;
const maxSecret = 256;
/** How long expired tokens are remembered, ms, so that their refusal has a reason. */
const rememberedMs = 24 * 3_600_000;

/** The document and the hash of the secret; the secret itself is stored nowhere. */
const storedTokenSchema = z.strictObject({ document: tokenSchema, secret_hash: z.string() });

export interface StoredToken {
  readonly token: Token;
  readonly secretHash: string;
  readonly entry: Entry;
}

export type JoinRole = (typeof joinRoles)[number];

export interface TokenAsk {
  readonly roles: readonly string[];
  /** 0: half an hour. */
  readonly ttlSeconds: number;
  /** 0: any number of hosts. */
  readonly uses: number;
  /** Empty: a random one. */
  readonly secret: string;
  /** Left out: any resources of these roles. */
  readonly resources?: OfferLimits | undefined;
  readonly actor: Actor;
}

/** A new join token. Its secret is only in the answer. */
export async function createToken(context: AuthContext, ask: TokenAsk): Promise<{ secret: string; token: Token }> {
  if (ask.secret !== "" && (ask.secret.length < minSecret || ask.secret.length > maxSecret)) {
    throw new PlatformError("invalid", `a join token's secret must have ${minSecret} to ${maxSecret} characters`, {
      hint: "leave it out to generate one",
    });
  }
  if (ask.ttlSeconds > maxTtlSeconds) throw new PlatformError("invalid", "a join token may be valid for at most ten years");
  const secret = ask.secret === "" ? randomBytes(32).toString("hex") : ask.secret;
  const expires = new Date(context.now().getTime() + (ask.ttlSeconds === 0 ? defaultTtlSeconds : ask.ttlSeconds) * 1000);
  const token = checkDocument(tokenSchema, {
    kind: "token",
    version: "v2",
    metadata: { name: randomUUID(), expires: expires.toISOString() },
    spec: {
      roles: ask.roles,
      join_method: "token",
      ...(ask.uses > 0 && { uses_left: ask.uses }),
      ...(ask.resources !== undefined && { resources: ask.resources }),
    },
  });
  const secretHash = hashOf(secret);
  const index: Write = { key: secretKey(secretHash), value: JSON.stringify(token.metadata.name), expires: kept(token), expect: "absent" };
  try {
    await context.storage.batch([tokenWrite(token, secretHash, "absent"), index]);
  } catch (thrown) {
    if (!(thrown instanceof PlatformError) || thrown.code !== "already_exists") throw thrown;
    throw new PlatformError("already_exists", "a join token with this secret already exists", { cause: thrown, hint: "choose another secret" });
  }
  const { actor } = ask;
  context.audit.emit({
    event: "join_token.create",
    user: actor.name,
    name: token.metadata.name,
    roles: token.spec.roles,
    expires: expires.toISOString(),
    "addr.remote": actor.address,
  });
  return { secret, token };
}

/** The token of a secret, expired or not. */
export async function findTokenBySecret({ storage }: Pick<AuthContext, "storage">, secret: string): Promise<StoredToken | undefined> {
  const hash = hashOf(secret);
  const index = await storage.get(secretKey(hash));
  if (index === undefined) return undefined;
  const stored = await readToken(storage, z.string().parse(JSON.parse(index.value)));
  if (stored === undefined || !timingSafeEqual(Buffer.from(stored.secretHash, "hex"), Buffer.from(hash, "hex"))) return undefined;
  return stored;
}

/** The token of a name, expired or not, if hosts may name it: one that has no secret. */
export async function findTokenByName({ storage }: Pick<AuthContext, "storage">, name: string): Promise<StoredToken | undefined> {
  const stored = await readToken(storage, name);
  return stored === undefined || hasSecret(stored.token) ? undefined : stored;
}

function hasSecret({ spec }: Token): boolean {
  return spec.join_method === "token";
}

/** Tokens that are still valid. */
export async function listTokens({ storage, now }: Pick<AuthContext, "storage" | "now">): Promise<readonly Token[]> {
  return (await storage.list("/token/")).map((entry) => decode(entry).token).filter((token) => !isExpired(token, now()));
}

export async function getToken({ storage, now }: Pick<AuthContext, "storage" | "now">, name: string): Promise<Token> {
  const stored = await readToken(storage, name);
  if (stored === undefined || isExpired(stored.token, now())) throw new PlatformError("not_found", `token ${name} does not exist`);
  return stored.token;
}

/** Changes roles, expiry or uses of a token. A new one with a secret cannot come from a document, which contains none. */
export async function putToken(context: AuthContext, token: Token, how: PutMode & { actor: Actor }): Promise<Token> {
  const { name } = token.metadata;
  const stored = await readToken(context.storage, name);
  if (token.spec.kubernetes?.static_jwks !== undefined) readKeySet(token.spec.kubernetes.static_jwks.jwks);
  if (stored === undefined && !hasSecret(token) && !how.mustExist) return await addNamed(context, token, how.actor);
  if (stored === undefined) {
    throw new PlatformError("not_found", `token ${name} does not exist; it cannot be made from a document, which contains no secret`, {
      hint: "use: tctl tokens add",
    });
  }
  if (!how.overwrite && !how.mustExist)
    throw new PlatformError("already_exists", `token ${name} already exists`, { hint: "choose another name, or change the one that is there" });
  if (stored.token.spec.join_method !== token.spec.join_method) {
    throw new PlatformError("invalid", `token ${name} is for the join method ${stored.token.spec.join_method}, which cannot be changed`, {
      hint: "make another token",
    });
  }
  const revision = token.metadata.revision ?? stored.entry.revision;
  const write = tokenWrite(token, stored.secretHash, { revision });
  const index: Write = { key: secretKey(stored.secretHash), value: JSON.stringify(name), expires: kept(token) };
  await named(`token ${name}`, context.storage.batch(hasSecret(token) ? [write, index] : [write]));
  context.audit.emit({ event: "join_token.update", user: how.actor.name, name, "addr.remote": how.actor.address });
  return await getToken(context, name);
}

async function addNamed(context: AuthContext, token: Token, actor: Actor): Promise<Token> {
  const { name, expires } = token.metadata;
  await named(`token ${name}`, context.storage.batch([tokenWrite(token, "", "absent")]));
  const facts = { name, roles: token.spec.roles, ...(expires !== undefined && { expires }), "addr.remote": actor.address };
  context.audit.emit({ event: "join_token.create", user: actor.name, ...facts });
  return await getToken(context, name);
}

export async function deleteToken(context: AuthContext, name: string, actor: Actor): Promise<void> {
  const stored = await readToken(context.storage, name);
  if (stored === undefined) throw new PlatformError("not_found", `token ${name} does not exist`);
  const secret = hasSecret(stored.token) ? [{ key: secretKey(stored.secretHash) }] : [];
  await context.storage.batch([{ key: tokenKey(name) }, ...secret]);
  context.audit.emit({ event: "join_token.delete", user: actor.name, name, "addr.remote": actor.address });
}

export function isExpired(token: Token, now: Date): boolean {
  return token.metadata.expires !== undefined && now >= new Date(token.metadata.expires);
}

/** The write that stores a token if the stored one matches `expect`. */
export function tokenWrite(token: Token, secretHash: string, expect: Write["expect"]): Put {
  const { revision: _, ...metadata } = token.metadata;
  const value = JSON.stringify({ document: { ...token, metadata }, secret_hash: secretHash });
  return { key: tokenKey(metadata.name), value, expires: kept(token), expect };
}

async function readToken(storage: AuthContext["storage"], name: string): Promise<StoredToken | undefined> {
  const entry = await storage.get(tokenKey(name));
  return entry === undefined ? undefined : decode(entry);
}

function decode(entry: Entry): StoredToken {
  const { document, secret_hash: secretHash } = checkDocument(storedTokenSchema, JSON.parse(entry.value));
  return { token: { ...document, metadata: { ...document.metadata, revision: entry.revision } }, secretHash, entry };
}

function kept(token: Token): Date | undefined {
  return token.metadata.expires === undefined ? undefined : new Date(new Date(token.metadata.expires).getTime() + rememberedMs);
}

function tokenKey(name: string): string {
  return `/token/${encodeURIComponent(name)}`;
}

function secretKey(hash: string): string {
  return `/token-secret/${hash}`;
}

function hashOf(secret: string): string {
  return createHash("sha256").update(secret).digest("hex");
}
