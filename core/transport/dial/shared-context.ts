import { createHash } from "node:crypto";
import { createSecureContext, type SecureContext } from "node:tls";

/** PEM; what is left out is Node's default. */
export interface ContextParts {
  readonly ca?: readonly string[] | undefined;
  readonly certificate?: string | undefined;
  readonly privateKey?: string | undefined;
  /** Groups of the key exchange, as OpenSSL's `SSL_CONF` has them: `*` marks those of which the client sends its share at once. */
  readonly groups?: string | undefined;
}

/** Contexts in use, by a digest of what they hold. */
const contexts = new Map<string, WeakRef<SecureContext>>();
const unused = new FinalizationRegistry<string>((digest) => {
  if (contexts.get(digest)?.deref() === undefined) contexts.delete(digest);
});

/**
 * A TLS client's context, one for all connections with the same authorities and the same certificate: it takes 17 to 34 KiB and a millisecond or
 * two, with all authorities of a machine many times that. Throws OpenSSL's error.
 */
export function sharedContext({ ca, certificate: cert, privateKey: key, groups }: ContextParts): SecureContext {
  const digest = createHash("sha256")
    .update(JSON.stringify([ca, cert, key, groups]))
    .digest("base64");
  const known = contexts.get(digest)?.deref();
  if (known !== undefined) return known;
  const made = createSecureContext({
    ...(ca !== undefined && { ca: [...ca] }),
    ...(cert !== undefined && { cert }),
    ...(key !== undefined && { key }),
    ...(groups !== undefined && { ecdhCurve: groups }),
  });
  contexts.set(digest, new WeakRef(made));
  unused.register(made, digest);
  return made;
}
