import { openAuthClient } from "../../core/api/auth-client.ts";
import { PlatformError } from "../../core/errors/platform-error.ts";
import type { Call } from "../command.ts";
import { dialProxy } from "../profile/dial-proxy.ts";
import { otherAuthority } from "../profile/other-authority.ts";
import { type Profile, requireValid } from "../profile/profile.ts";
import { saveTrust, tshHome } from "../profile/profile-folder.ts";

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
  const { facts, secrets, hostCaPem: ca } = profile;
  const credentials = { certificate: secrets.tlsCertificate, privateKey: secrets.tlsPrivateKey };
  using connection = openAuthClient({ open: () => dialProxy(facts, io), ca, credentials });
  const { hostCaPem, hostCaSsh } = await connection.client.getCluster({});
  const known = new Set([...ca, ...facts.hostCaSsh].map((one) => one.trim()));
  if ([...hostCaPem, ...hostCaSsh].every((one) => known.has(one.trim()))) return undefined;
  if (options.text("identity") === undefined) await saveTrust(tshHome(io.env), facts.proxy, { hostCaPem, hostCaSsh });
  return { ...profile, hostCaPem, facts: { ...facts, hostCaSsh } };
}
