import { X509Certificate } from "node:crypto";
import { openAuthClient } from "../../core/api/auth-client.ts";
import type { LoginResponse } from "../../core/api/generated/platform/auth/v1/auth_pb.ts";
import { PlatformError } from "../../core/errors/platform-error.ts";
import { fromX509Certificate } from "../../core/identity/x509-identity.ts";
import { parseDuration } from "../../core/resources/duration.ts";
import { dial } from "../../core/transport/dial/dial.ts";
import { formatHostPort, type HostPort, parseHostPort } from "../../core/transport/host-port.ts";
import { version } from "../../core/versions/version.ts";
import { askSecrets } from "../ask.ts";
import type { Call } from "../command.ts";
import { type NewKeys, newKeys } from "../new-keys.ts";
import { type Result, writeWarning } from "../output.ts";
import { otherAuthority } from "../profile/other-authority.ts";
import type { Profile } from "../profile/profile.ts";
import { type NamedProxy, saveProfile, tshHome } from "../profile/profile-folder.ts";
import { checkVersion } from "./check-version.ts";
import { chooseTrust } from "./choose-trust.ts";
import { describeProfile } from "./describe-profile.ts";
import { reachableProxy } from "./reachable-proxy.ts";
import { proxyOption } from "./with-profile.ts";

/** `tsh login`: password and one-time code for certificates, stored under ~/.tsh. */
export async function login(call: Call): Promise<Result> {
  const { io, options } = call;
  const named = proxyOption(call);
  const user = options.text("user") ?? (io.env.TSH_USER || undefined);
  if (named === undefined) throw missing("no proxy was given", "--proxy=<host[:port]>");
  if (user === undefined) throw missing("no user was given", "--user=<name>");
  const ttl = options.text("ttl");
  const ttlSeconds = ttl === undefined ? 0 : parseDuration(ttl);
  if (ttlSeconds > 0xffff_ffff) throw new PlatformError("invalid", `--ttl: ${ttl} is too long`);
  const proxy = await reachableProxy(named, io.env);
  const { ca, from } = await withPortHint(named, () => chooseTrust(call, proxy));
  const connection = openAuthClient({ open: () => dial(proxy, { env: io.env }), ca });
  const keys = newKeys();
  try {
    // Before the prompts for secrets: a wrong address or authority is reported at once.
    const cluster = await connection.client.getCluster({}).catch((thrown: unknown) => {
      throw from === "earlier login" ? otherAuthority(thrown, proxy) : thrown;
    });
    const warning = checkVersion({ own: version, cluster: cluster.version, skip: options.flag("skipVersionCheck") });
    if (warning !== undefined) writeWarning(io, warning);
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

function othersThan(proxy: HostPort, addresses: readonly string[]): readonly HostPort[] {
  return addresses
    .map((address) => parseHostPort(address, undefined, "a proxy of the cluster"))
    .filter((other) => formatHostPort(other) !== formatHostPort(proxy));
}

function missing(message: string, flag: string): PlatformError {
  return new PlatformError("invalid", message, { hint: `give it with ${flag}` });
}

function toProfile({ proxy, keys, answer }: { proxy: HostPort; keys: NewKeys; answer: LoginResponse }): Profile {
  const identity = fromX509Certificate(new X509Certificate(answer.tlsCertificate));
  const { cluster } = answer;
  if (identity.kind !== "user" || cluster === undefined) throw new PlatformError("unavailable", "the auth service sent no user certificate");
  const { name: user, roles, traits, principals, validBefore: validUntil } = identity;
  return {
    facts: {
      proxy,
      others: othersThan(proxy, cluster.proxyPublicAddrs),
      user,
      cluster: identity.cluster,
      roles,
      traits,
      principals,
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

/** Names the ports that were tried when the user gave none. */
async function withPortHint<T>({ host, port, otherPort }: NamedProxy, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (thrown) {
    if (otherPort === undefined || !(thrown instanceof PlatformError) || (thrown.code !== "unavailable" && thrown.code !== "timeout")) throw thrown;
    const hint = `tried ports ${port} and ${otherPort}, because --proxy has no port; use --proxy=${host}:<port> with the port from your admin`;
    throw new PlatformError(thrown.code, thrown.message, { cause: thrown, hint });
  }
}
