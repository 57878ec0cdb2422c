import type { Duplex } from "node:stream";
import type { TLSSocket } from "node:tls";
import type { AuthClient, AuthConnection } from "../../core/api/auth-client.ts";
import { PlatformError } from "../../core/errors/platform-error.ts";
import type { TlsOptions } from "../../core/transport/dial/start-tls.ts";
import { formatHostPort, type HostPort } from "../../core/transport/host-port.ts";
import { dialWebPort, dialWebPortTls } from "../../core/transport/upgrade/dial-web-port.ts";
import type { Call } from "../command.ts";
import type { CliIo } from "../io.ts";
import { printable } from "../output.ts";
import { type Profile, type ProfileFacts, requireValid } from "./profile.ts";
import { tshHome } from "./profile-folder.ts";
import { saveTrust } from "./save-profile.ts";

/*
 * The ways of a login to its cluster: through its proxies, to its auth service, and past a change of its authorities. The client of the auth
 * service is loaded when it is needed: `tsh ssh` starts without it.
 */

/** Maximum number of other proxies to try. */
const maxOthers = 4;

type Reach = Pick<ProfileFacts, "proxy" | "others">;
type ReachIo = Pick<CliIo, "env" | "stderr">;

/** A byte stream to the proxy of the login or, when it is unreachable, to another one of its cluster. Throws as `dial` does. */
export async function dialProxy(reach: Reach, io: ReachIo): Promise<Duplex> {
  return await firstReached(reach, io, (proxy) => dialWebPort(proxy, { env: io.env }));
}

/** The same inside TLS. Every proxy proves itself by the authority of the login. Throws as `dialTls` does. */
export async function dialProxyTls(reach: Reach, tls: TlsOptions, io: ReachIo): Promise<TLSSocket> {
  return await firstReached(reach, io, (proxy) => dialWebPortTls(proxy, tls, { env: io.env }));
}

/**
 * The result of `open` with the proxy of the login or, when that one is unreachable, with another one of its cluster. Throws the first failure: it concerns the
 * proxy that the user named.
 */
export async function firstReached<T>(
  { proxy, others = [] }: Reach,
  { stderr }: Pick<CliIo, "stderr">,
  open: (proxy: HostPort) => Promise<T>,
): Promise<T> {
  let first: unknown;
  for (const next of [proxy, ...others.slice(0, maxOthers)]) {
    try {
      const opened = await open(next);
      if (first !== undefined)
        stderr.write(`${printable(`proxy ${formatHostPort(proxy)} cannot be reached: going through ${formatHostPort(next)}`)}\n`);
      return opened;
    } catch (thrown) {
      first ??= thrown;
      if (!(thrown instanceof PlatformError) || (thrown.code !== "unavailable" && thrown.code !== "timeout")) throw first;
    }
  }
  throw first;
}

/** Runs work on a connection to the auth service, as the user of the login. Throws `unauthenticated` when the login has expired. */
export async function withAuth<T>(io: ReachIo, profile: Profile, work: (client: AuthClient) => Promise<T>): Promise<T> {
  requireValid(profile.facts, new Date());
  using connection = await openAuth(io, profile);
  return await work(connection.client).catch((thrown: unknown) => {
    throw otherAuthority(thrown, profile.facts.proxy);
  });
}

async function openAuth(io: ReachIo, { facts, secrets, own, hostCaPem: ca }: Profile): Promise<AuthConnection> {
  const { openAuthClient } = await import("../../core/api/auth-client.ts");
  const credentials = own ?? { certificate: secrets.tlsCertificate, privateKey: secrets.tlsPrivateKey };
  return openAuthClient({ open: () => dialProxy(facts, io), ca, credentials });
}

/**
 * Runs work that fails at once when the peer shows a certificate that this profile cannot verify. During a rotation the cluster may have a key
 * that is newer than the login: the auth service, which proves itself by a key that the profile knows, is queried, and the work is repeated.
 */
export async function withTrust<T>(call: Pick<Call, "io" | "options">, profile: Profile, work: (profile: Profile) => Promise<T>): Promise<T> {
  requireValid(profile.facts, new Date());
  try {
    return await work(profile);
  } catch (thrown) {
    if (!(thrown instanceof PlatformError) || thrown.code !== "unauthenticated") throw thrown;
    const fresh = await newerTrust(call, profile).catch(() => undefined);
    if (fresh === undefined) throw otherAuthority(thrown, profile.facts.proxy);
    return await work(fresh);
  }
}

/** Stores the profile with the current authorities and returns it; undefined when they are unchanged. */
async function newerTrust({ io, options }: Pick<Call, "io" | "options">, profile: Profile): Promise<Profile | undefined> {
  const { facts, hostCaPem: ca } = profile;
  using connection = await openAuth(io, profile);
  const { hostCaPem, hostCaSsh } = await connection.client.getCluster({});
  const known = new Set([...ca, ...facts.hostCaSsh].map((one) => one.trim()));
  if ([...hostCaPem, ...hostCaSsh].every((one) => known.has(one.trim()))) return undefined;
  // Without a folder for this proxy (--proxy named another one of the cluster), or on a full disk, the next command asks again.
  if (options.text("identity") === undefined) await saveTrust(tshHome(io.env), facts.proxy, { hostCaPem, hostCaSsh }).catch(() => {});
  return { ...profile, hostCaPem, facts: { ...facts, hostCaSsh } };
}

/** Turns a connection failure into a hint how to trust the new authority, when the one stored by an earlier login no longer fits. */
export function otherAuthority(thrown: unknown, proxy: HostPort): unknown {
  const verdict = /^(UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_|CERT_SIGNATURE_FAILURE$)/;
  for (let cause = thrown, depth = 0; cause instanceof Error && depth < 8; cause = cause.cause, depth += 1) {
    if (!("code" in cause) || !verdict.test(String(cause.code))) continue;
    const where = formatHostPort(proxy);
    const by = thrown instanceof Error ? (/ \(it is issued by ".*"\)$/.exec(thrown.message)?.[0] ?? "") : "";
    return new PlatformError("unauthenticated", `the cluster at ${where} shows another certificate authority than at the last login${by}`, {
      cause: thrown,
      hint: "if the authority was replaced since then (tctl auth rotate) or the cluster was set up again, log in with the pin that `tctl status` prints there: --ca-pin=sha256:…; if an HTTP proxy on the path inspects TLS, exempt this address from it; otherwise this may be a man-in-the-middle attack",
    });
  }
  return thrown;
}
