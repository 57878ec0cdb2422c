import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { isIP } from "node:net";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { Storage, Write } from "../../storage/storage.ts";
import type { AuthContext } from "../auth-context.ts";

/** The proxy's address at which a browser is: its host is the id of the relying party. */
export interface PasskeySite {
  readonly host: string;
  readonly port: number;
}

/** What an answer to a challenge is for; it is good for nothing else. */
export type ChallengePurpose =
  | { readonly scope: "login" }
  | { readonly scope: "add"; readonly user: string; readonly name: string; readonly handle: string }
  /** `target`: what is confirmed, by kind and name. */
  | { readonly scope: "remove" | "session"; readonly user: string; readonly target: { readonly kind: string; readonly name: string } };

export interface ChallengeFacts {
  readonly purpose: ChallengePurpose;
  readonly site: PasskeySite;
  /** The browser that may answer: the id of its session, or a secret of it before a login. */
  readonly browser: string;
}

/** Time to answer, ms. */
const answerMs = 300_000;
/** How much longer a used challenge is remembered than it could be used, ms. */
const spareMs = 60_000;
const nonceLength = 32;
const timeLength = 8;
const macLength = 32;

const keyOfMacs = "/passkey_challenge_key";

/**
 * A challenge is
 *
 *     | 32 random bytes | end, ms since 1970, big-endian, 8 bytes | HMAC-SHA256 over both and the facts, 32 bytes |
 *
 * An answer brings it back, so that it is stored nowhere until it has been used: strangers may ask for as many as they like.
 */
export async function newChallenge({ storage, now }: Pick<AuthContext, "storage" | "now">, facts: ChallengeFacts): Promise<Buffer> {
  requireSite(facts.site);
  const end = Buffer.alloc(timeLength);
  end.writeBigUInt64BE(BigInt(now().getTime() + answerMs));
  const head = Buffer.concat([randomBytes(nonceLength), end]);
  return Buffer.concat([head, macOf(await macKey(storage), head, facts)]);
}

/**
 * The write that uses up a challenge: it fails where another answer is faster. Undefined: it is not one of ours, is for something else, has expired, or was used
 * before.
 */
export async function challengeUse(
  { storage, now }: Pick<AuthContext, "storage" | "now">,
  challenge: Buffer,
  facts: ChallengeFacts,
): Promise<Write | undefined> {
  if (challenge.length !== nonceLength + timeLength + macLength) return undefined;
  const head = challenge.subarray(0, nonceLength + timeLength);
  const mac = macOf(await macKey(storage), head, facts);
  if (!timingSafeEqual(mac, challenge.subarray(head.length))) return undefined;
  const end = Number(head.readBigUInt64BE(nonceLength));
  if (now().getTime() >= end) return undefined;
  const key = `/passkey_challenge_used/${head.subarray(0, nonceLength).toString("hex")}`;
  // Before the answer is looked at: the count of an authenticator in an answer that comes again would look like that of a copy.
  if ((await storage.get(key)) !== undefined) return undefined;
  return { key, value: "", expires: new Date(end + spareMs), expect: "absent" };
}

/** The only origin of pages at a site. */
export function originOf({ host, port }: PasskeySite): string {
  return `https://${host}${port === 443 ? "" : `:${port}`}`;
}

/** Throws `unsupported` for an address, which cannot have passkeys (WebAuthn takes names alone), and `invalid` for what is not a host name in lower case. */
function requireSite({ host, port }: PasskeySite): void {
  if (isIP(host) > 0) throw new PlatformError("unsupported", "passkeys do not work at an IP address", { hint: "open the proxy by its name" });
  if (!/^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/.test(host) || port < 1 || port > 65_535)
    throw new PlatformError("invalid", "this is not a proxy's address");
}

function macOf(key: Buffer, head: Buffer, { purpose, site, browser }: ChallengeFacts): Buffer {
  const { scope } = purpose;
  const what =
    scope === "login"
      ? []
      : scope === "add"
        ? [purpose.user, purpose.name, purpose.handle]
        : [purpose.user, purpose.target.kind, purpose.target.name];
  const facts = ["passkey challenge 1", head.toString("hex"), scope, site.host, site.port, browser, ...what];
  return createHmac("sha256", key).update(JSON.stringify(facts)).digest();
}

/** The cluster's key for challenges: made when the first one is asked for. */
async function macKey(storage: Storage): Promise<Buffer> {
  const stored = await storage.get(keyOfMacs);
  if (stored !== undefined) return Buffer.from(stored.value, "base64");
  try {
    await storage.put({ key: keyOfMacs, value: randomBytes(32).toString("base64"), expect: "absent" });
  } catch (thrown) {
    // Another call or process was first.
    if (!(thrown instanceof PlatformError) || thrown.code !== "already_exists") throw thrown;
  }
  return await macKey(storage);
}
