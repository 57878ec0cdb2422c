import { openAuthClient } from "../../core/api/auth-client.ts";
import type { LoginResponse } from "../../core/api/generated/platform/auth/v1/auth_pb.ts";
import { PlatformError } from "../../core/errors/platform-error.ts";
import { fromSshCertificate } from "../../core/identity/identity.ts";
import { parseDuration } from "../../core/resources/duration.ts";
import { parseCertificateLine } from "../../core/ssh/certificate.ts";
import { dial } from "../../core/transport/dial/dial.ts";
import { formatHostPort, type HostPort, parseHostPort } from "../../core/transport/host-port.ts";
import { judgeFit, misfitText } from "../../core/versions/judge-fit.ts";
import { version } from "../../core/versions/version.ts";
import { askSecrets } from "../ask.ts";
import type { Call } from "../command.ts";
import { type NewKeys, newKeys } from "../new-keys.ts";
import { type Result, writeWarning } from "../output.ts";
import { otherAuthority } from "../profile/other-authority.ts";
import type { Profile } from "../profile/profile.ts";
import { saveProfile, tshHome } from "../profile/profile-folder.ts";
import { chooseTrust } from "./choose-trust.ts";
import { describeProfile } from "./describe-profile.ts";
import { defaultProxyPort, proxyOption } from "./with-profile.ts";

/** `tsh login`: password and one-time code for certificates, stored under ~/.tsh. */
export async function login(call: Call): Promise<Result> {
  const { io, options } = call;
  const proxy = proxyOption(call);
  const user = options.text("user") ?? (io.env.TSH_USER || undefined);
  if (proxy === undefined) throw missing("no proxy is given", "--proxy=<host[:port]>");
  if (user === undefined) throw missing("no user is given", "--user=<name>");
  const ttl = options.text("ttl");
  const ttlSeconds = ttl === undefined ? 0 : parseDuration(ttl);
  if (ttlSeconds > 0xffff_ffff) throw new PlatformError("invalid", `--ttl: ${ttl} is too long`);
  const { ca, from } = await withPortHint(proxy, options.text("proxy"), () => chooseTrust(call, proxy));
  const connection = openAuthClient({ open: () => dial(proxy, { env: io.env }), ca });
  const keys = newKeys();
  try {
    // Before the secrets are asked for: a wrong address or authority is said at once.
    const cluster = await connection.client.getCluster({}).catch((thrown: unknown) => {
      throw from === "earlier login" ? otherAuthority(thrown, proxy) : thrown;
    });
    checkVersion(call, cluster.version);
    const [password = "", code = ""] = await askSecrets(io, [`Password of ${user}`, "One-time code"]);
    const request = { user, password, code: code.replaceAll(" ", ""), sshPublicKey: keys.sshPublic, tlsPublicKey: keys.tlsPublic, ttlSeconds };
    const profile = toProfile({ proxy, keys, answer: await connection.client.login(request) });
    await saveProfile(tshHome(io.env), profile, `${keys.sshPublic} ${user}`);
    const described = describeProfile(profile.facts, new Date());
    return { data: described.data, text: described.text };
  } finally {
    connection.close();
  }
}

/** Too old: refused before anything is asked for. Newer by a major: it may work, which is said. */
function checkVersion({ io, options }: Call, cluster: string): void {
  const misfit = misfitText("this tsh", { peer: version, cluster });
  if (misfit === undefined) return;
  if (judgeFit(version, cluster) === "too_old" && !options.flag("skipVersionCheck")) {
    throw new PlatformError("unsupported", misfit.message, { hint: `${misfit.hint}, or try it with --skip-version-check` });
  }
  writeWarning(io, `${misfit.message}: what is new to either may fail`);
}

function othersThan(proxy: HostPort, addresses: readonly string[]): readonly HostPort[] {
  return addresses
    .map((address) => parseHostPort(address, undefined, "a proxy of the cluster"))
    .filter((other) => formatHostPort(other) !== formatHostPort(proxy));
}

function missing(message: string, flag: string): PlatformError {
  return new PlatformError("invalid", message, { hint: `give it with ${flag}` });
}

function toProfile({ proxy, keys, answer }: { proxy: HostPort; keys: NewKeys; answer: LoginResponse }): Profile {
  const identity = fromSshCertificate(parseCertificateLine(answer.sshCertificate));
  const { cluster } = answer;
  if (identity.kind !== "user" || cluster === undefined) throw new PlatformError("unavailable", "the auth service sent no certificate of a user");
  const { name: user, roles, traits, logins, validBefore: validUntil } = identity;
  return {
    facts: {
      proxy,
      others: othersThan(proxy, cluster.proxyPublicAddrs),
      user,
      cluster: identity.cluster,
      roles,
      traits,
      logins,
      validUntil,
      hostCaSsh: cluster.hostCaSsh,
    },
    secrets: {
      sshPrivateKey: keys.sshPrivate,
      sshCertificate: answer.sshCertificate,
      tlsPrivateKey: keys.tlsPrivate,
      tlsCertificate: answer.tlsCertificate,
    },
    hostCaPem: cluster.hostCaPem,
  };
}

/** Says which port was tried when the user named none. */
async function withPortHint<T>(proxy: HostPort, typed: string | undefined, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (thrown) {
    const ownPort = typed === undefined || /:\d+$/.test(typed);
    if (ownPort || !(thrown instanceof PlatformError) || (thrown.code !== "unavailable" && thrown.code !== "timeout")) throw thrown;
    const hint = `tried port ${defaultProxyPort}, because --proxy names none; give it as --proxy=${proxy.host}:443 or the port that your admin names`;
    throw new PlatformError(thrown.code, thrown.message, { cause: thrown, hint });
  }
}
