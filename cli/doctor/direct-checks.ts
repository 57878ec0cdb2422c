import { openAuthClient } from "../../core/api/auth-client.ts";
import type { HostCredentials } from "../../core/api/host-credentials.ts";
import { fetchTrust, trustByPin } from "../../core/api/trust.ts";
import type { JoinMethod, PlatformConfig } from "../../core/config/platform-config.ts";
import { PlatformError } from "../../core/errors/platform-error.ts";
import { subjectOf } from "../../core/identity/x509-identity.ts";
import { readPodToken } from "../../core/kubernetes/pod-token.ts";
import { alpn, roleServerName } from "../../core/transport/alpn.ts";
import type { Env } from "../../core/transport/dial/choose-proxy.ts";
import { dial, dialTls } from "../../core/transport/dial/dial.ts";
import { formatHostPort, type HostPort } from "../../core/transport/host-port.ts";
import { dialWebPort } from "../../core/transport/upgrade/dial-web-port.ts";
import { version } from "../../core/versions/version.ts";
import type { CheckName, Examination, Said } from "./examination.ts";
import { examinePath } from "./path-checks.ts";
import { examineTls } from "./tls-checks.ts";

export interface AgentAsk {
  readonly target: HostPort;
  readonly env: Env;
  readonly platform: PlatformConfig["platform"];
  /** Undefined: the host has not joined yet. */
  readonly credentials: HostCredentials | undefined;
  /** Further names that it requests. */
  readonly names: readonly string[];
  /** Services that it wants to offer. */
  readonly services: readonly string[];
}

/** Checks of an agent that joins the auth service directly. */
export const wantedDirect: readonly CheckName[] = [
  ...(["configuration", "identity", "environment", "route", "name", "connection", "tls", "alpn", "certificate", "access", "port"] as const),
];

/** A port of the agent, and the section that sets it. */
export interface Listens {
  readonly section: string;
  readonly address: HostPort;
}

/** Checks the path to the auth service, and the ports on which the proxies reach this host. */
export async function examineDirect(exam: Examination, ask: AgentAsk & { listens: readonly Listens[] }): Promise<void> {
  const { target, env, platform, credentials, listens } = ask;
  const path = await examinePath(exam, { target, env });
  if (path === undefined) return;
  const byPin = async () => [await trustByPin({ open: () => dial(target, { env }), pins: platform.caPins })];
  const authorities = async () => credentials?.hostCaPem ?? (await byPin());
  const untrusted = "compare platform.ca_pin with what `tctl status` prints";
  const { trusted } = await examineTls(exam, path, { alpn: "h2", servername: roleServerName("auth"), authorities, untrusted });
  if (!trusted) return;
  if (credentials === undefined) {
    await examineJoin(exam, ask);
    return exam.skip(["access", "port"], "this host has not joined yet");
  }
  if (await exam.passes("access", () => askAuth(target, env, credentials))) await exam.passes("port", () => examinePorts(listens, credentials));
}

/** Whether a host that has not joined yet could join with the token of its configuration. */
export async function examineJoin(exam: Examination, { target, env, platform, names, services }: AgentAsk): Promise<void> {
  const { token, joinMethod, caPins: pins, nodename: hostname } = platform;
  if (token !== undefined) await exam.passes("token", () => examineToken({ target, env, token, joinMethod, pins, hostname, names, services }));
}

/** Whether the auth service, reached at this address, takes the host's certificate. Throws PlatformError. */
export async function askAuth(target: HostPort, env: Env, { hostCaPem: ca, tlsCertificate, tlsPrivateKey }: HostCredentials): Promise<Said> {
  const credentials = { certificate: tlsCertificate, privateKey: tlsPrivateKey };
  using connection = openAuthClient({ open: () => dialWebPort(target, { env }), ca, credentials });
  await connection.client.getAccess({});
  return { says: "the auth service knows this host and accepts its certificate" };
}

/** A check from this machine: only the proxies know whether their path leads here. Throws `unavailable` or `conflict`. */
async function examinePorts(listens: readonly Listens[], credentials: HostCredentials): Promise<Said> {
  const places: string[] = [];
  for (const one of listens) places.push(await examinePort(one, credentials));
  const them = places.length === 1 ? "that port" : "those ports";
  return { says: `this host's agent listens at ${places.join(" and ")}; the proxies must be allowed to connect to ${them}` };
}

async function examinePort({ section, address: { host, port } }: Listens, { hostCaPem: ca, hostId }: HostCredentials): Promise<string> {
  const local = { host: host === "0.0.0.0" ? "127.0.0.1" : host === "::" ? "::1" : host, port };
  const where = formatHostPort(local);
  const hint = "check that the service runs: systemctl status platform";
  const tls = { alpn: [alpn.direct], servername: roleServerName("node"), ca };
  const socket = await dialTls(local, tls, { env: {} }).catch((cause: unknown) => {
    throw new PlatformError("unavailable", `no agent answers at ${where}`, { cause, hint });
  });
  socket.on("error", () => {});
  try {
    const certificate = socket.getPeerX509Certificate();
    const id = certificate && subjectOf(certificate).CN;
    if (id === hostId) return where;
    throw new PlatformError("conflict", `another agent answers at ${where} (host ${String(id)})`, {
      hint: `give each agent its own port in ${section}.listen_addr`,
    });
  } finally {
    socket.destroy();
  }
}

interface TokenAsk {
  readonly target: HostPort;
  readonly env: Env;
  readonly token: string;
  readonly joinMethod: JoinMethod;
  readonly pins: readonly string[];
  /** The name that the host will have. */
  readonly hostname: string;
  readonly names: readonly string[];
  /** Services that it wants to offer. */
  readonly services: readonly string[];
}

/**
 * Whether the auth service would let this host join with its token, which is not used up. The token is sent as in a join: only to a
 * trusted auth service. Undefined: an older one cannot answer. Throws PlatformError.
 */
async function examineToken({ target, env, token, joinMethod, pins, hostname, names, services }: TokenAsk): Promise<Said | undefined> {
  const open = () => dialWebPort(target, { env });
  const ca = pins.length > 0 ? [await trustByPin({ open, pins })] : await fetchTrust(target, { env });
  using connection = openAuthClient({ open, ca });
  try {
    const { expires, usesLeft } = await connection.client.checkJoin({
      token,
      idToken: joinMethod === "kubernetes" ? await readPodToken(env) : "",
      role: "node",
      hostname,
      names: [...names],
      services: [...services],
      version,
    });
    const uses = usesLeft === undefined ? "" : `, for ${usesLeft} more ${usesLeft === 1 ? "host" : "hosts"}`;
    return { says: `the auth service takes the join token for ${hostname}: it is valid until ${expires}${uses}` };
  } catch (thrown) {
    // The remedy for this host's version.
    if (thrown instanceof PlatformError && thrown.code === "unsupported" && thrown.hint === undefined) return undefined;
    throw thrown;
  }
}
