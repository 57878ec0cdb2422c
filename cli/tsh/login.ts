import { X509Certificate } from "node:crypto";
import { openAuthClient } from "../../core/api/auth-client.ts";
import type { LoginResponse } from "../../core/api/generated/platform/auth/v1/auth_pb.ts";
import { fetchTrust, trustByPin } from "../../core/api/trust.ts";
import { PlatformError } from "../../core/errors/platform-error.ts";
import { fromX509Certificate } from "../../core/identity/x509-identity.ts";
import { parseDuration } from "../../core/resources/duration.ts";
import { dial } from "../../core/transport/dial/dial.ts";
import { formatHostPort, type HostPort, parseHostPort } from "../../core/transport/host-port.ts";
import { dialWebPort } from "../../core/transport/upgrade/dial-web-port.ts";
import { judgeFit, misfitText } from "../../core/versions/compare-versions.ts";
import { version } from "../../core/versions/version.ts";
import { askSecrets } from "../ask.ts";
import type { Call } from "../command.ts";
import type { CliIo } from "../io.ts";
import { type Result, writeWarning } from "../output.ts";
import { type NamedProxy, proxyOption } from "../profile/choose-profile.ts";
import type { Profile } from "../profile/profile.ts";
import { knownAuthorities, tshHome } from "../profile/profile-folder.ts";
import { otherAuthority } from "../profile/reach-cluster.ts";
import { saveProfile } from "../profile/save-profile.ts";
import { type NewKeys, newKeys } from "../secrets.ts";
import { describeProfile } from "./logins.ts";

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
  const connection = openAuthClient({ open: () => dialWebPort(proxy, { env: io.env }), ca });
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

/**
 * The warning before a login to a cluster; undefined: none. A tsh newer by a major may work. Throws `unsupported` for a tsh that is
 * too old, unless the user chose to try it. Pure.
 */
export function checkVersion({ own, cluster, skip }: { own: string; cluster: string; skip: boolean }): string | undefined {
  const misfit = misfitText("this tsh", { peer: own, cluster });
  if (misfit === undefined) return undefined;
  if (judgeFit(own, cluster) === "too_old" && !skip)
    throw new PlatformError("unsupported", misfit.message, { hint: `${misfit.hint}, or try it with --skip-version-check` });
  return `${misfit.message}: newer features may not work`;
}

/** Time limit for one port to answer, ms: a firewall may drop all packets to the other. */
const probeMs = 3000;

/** The first of the proxy's possible ports that answers; the first in the list when none does. */
export async function reachableProxy({ host, port, otherPort }: NamedProxy, env: CliIo["env"]): Promise<HostPort> {
  const first = { host, port };
  if (otherPort === undefined || (await answers(first, env))) return first;
  const other = { host, port: otherPort };
  return (await answers(other, env)) ? other : first;
}

async function answers(address: HostPort, env: CliIo["env"]): Promise<boolean> {
  try {
    const socket = await dial(address, { env, timeoutMs: probeMs });
    socket.on("error", () => {}).destroy();
    return true;
  } catch {
    return false;
  }
}

interface Trust {
  /** PEM. */
  readonly ca: readonly string[];
  readonly from: "pin" | "earlier login" | "proxy";
}

/**
 * Host authorities (PEM) to trust at this proxy, from the strongest available source: a CA pin, an earlier login, a web
 * certificate that this system trusts; with `--insecure` those that the proxy sends.
 */
async function chooseTrust({ io, options }: Call, proxy: HostPort): Promise<Trust> {
  const pins = options.list("caPin");
  if (pins.length > 0) return { ca: [await trustByPin({ open: () => dialWebPort(proxy, { env: io.env }), pins })], from: "pin" };
  if (options.flag("insecure")) {
    writeWarning(io, `--insecure: the certificate of ${proxy.host} is NOT verified; an attacker on the path can read your password`);
    const unverified = { env: io.env, insecure: true };
    return { ca: await fetchTrust(proxy, unverified), from: "proxy" };
  }
  const known = await knownAuthorities(tshHome(io.env), proxy);
  if (known !== undefined) return { ca: known, from: "earlier login" };
  return { ca: await fetchTrust(proxy, { env: io.env }), from: "proxy" };
}
