import type { Socket } from "node:net";
import { openAuthClient } from "../../core/api/auth-client.ts";
import type { HostCredentials } from "../../core/api/host-credentials.ts";
import { errorText, PlatformError, toPlatformError } from "../../core/errors/platform-error.ts";
import { readDocuments } from "../../core/resources/document.ts";
import { type ClusterProxy, maxAgentProxies, proxyDocument } from "../../core/resources/proxy.ts";
import { alpn, roleServerName } from "../../core/transport/alpn.ts";
import { Attempt, ignoreError } from "../../core/transport/dial/attempt.ts";
import type { Env } from "../../core/transport/dial/choose-proxy.ts";
import { dial } from "../../core/transport/dial/dial.ts";
import { discoverTunnels, type TunnelAddress } from "../../core/transport/discover-tunnel.ts";
import { formatHostPort, type HostPort, parseHostPort } from "../../core/transport/host-port.ts";
import { dialWebPort, dialWebPortTls } from "../../core/transport/upgrade/dial-web-port.ts";
import type { Said } from "./examination.ts";

export interface TunnelAsk {
  readonly target: HostPort;
  readonly env: Env;
  readonly credentials: HostCredentials;
}

/** Checks where the proxy accepts tunnels, and that it speaks SSH there. Throws PlatformError. */
export async function examineTunnel({ target, env, credentials }: TunnelAsk): Promise<Said> {
  const ca = credentials.hostCaPem;
  const addresses = await discoverTunnels({ proxy: target, hostCa: ca, env });
  let before: unknown;
  for (const address of addresses) {
    try {
      const says = await greet(address, { ca, env });
      if (before === undefined) return { says };
      return { says, warning: `${errorText(before)}: the proxy's public_addr could not be reached from here` };
    } catch (thrown) {
      before ??= thrown;
    }
  }
  throw before;
}

async function greet({ address, tls }: TunnelAddress, { ca, env }: { ca: readonly string[]; env: Env }): Promise<string> {
  const where = formatHostPort(address);
  const secured = { alpn: [alpn.tunnel], servername: roleServerName("proxy"), ca };
  const socket = tls ? await dialWebPortTls(address, secured, { env }) : await dial(address, { env });
  socket.on("error", ignoreError);
  try {
    const banner = await firstBytes(socket, where);
    if (banner.startsWith("SSH-2.0-")) return `the proxy accepts tunnels at ${where}${tls ? ", inside TLS" : ""}`;
    throw new PlatformError("unavailable", `${where} accepts connections but does not speak SSH`, { hint: "check tunnel_public_addr of the proxy" });
  } finally {
    socket.destroy();
  }
}

/** Whether tunnels reach the cluster's other proxies too. Throws `unavailable`, which names the unreachable ones. */
export async function examineProxies(ask: TunnelAsk): Promise<Said> {
  const { target, env, credentials } = ask;
  const proxies = await listProxies(target, env, credentials);
  if (proxies.length < 2) return { says: "the cluster has no other proxy" };
  const own = formatHostPort(target);
  const others = [...new Set(proxies.map(({ addr }) => addr))].filter((addr) => addr !== own);
  const checked = others.slice(0, maxAgentProxies).map(async (addr) => {
    const failed = await examineTunnel({ ...ask, target: parseHostPort(addr, undefined, "a proxy's address") }).then(
      () => undefined,
      (thrown: unknown) => toPlatformError(thrown).message,
    );
    const names = proxies.filter((proxy) => proxy.addr === addr).map(({ name }) => name);
    return failed === undefined ? [] : [`${names.join(", ")} at ${addr}: ${failed}`];
  });
  const failed = (await Promise.all(checked)).flat();
  if (failed.length > 0) {
    throw new PlatformError("unavailable", `this host is not reachable through every proxy of the cluster: ${failed.join("; ")}`, {
      hint: "allow this host to connect there, or correct public_addr of that proxy; docs/several-proxies.md",
    });
  }
  const count = proxies.length;
  const more = count > maxAgentProxies ? `; a host keeps tunnels to ${maxAgentProxies} of them` : "";
  return { says: `tunnels reach the addresses of all ${count} proxies of the cluster${more}` };
}

/** An older auth service does not list any. */
async function listProxies(target: HostPort, env: Env, host: HostCredentials): Promise<readonly ClusterProxy[]> {
  const credentials = { certificate: host.tlsCertificate, privateKey: host.tlsPrivateKey };
  using connection = openAuthClient({ open: () => dialWebPort(target, { env }), ca: host.hostCaPem, credentials });
  try {
    const { proxiesJson } = await connection.client.listProxies({});
    return readDocuments(proxyDocument, proxiesJson);
  } catch (thrown) {
    if (thrown instanceof PlatformError && thrown.code === "unsupported") return [];
    throw thrown;
  }
}

async function firstBytes(socket: Socket, where: string): Promise<string> {
  using attempt = new Attempt({});
  attempt.waitingFor = `the SSH greeting of ${where}`;
  for (;;) {
    const chunk: unknown = socket.read();
    if (Buffer.isBuffer(chunk)) return chunk.toString("latin1", 0, 255);
    await attempt.next(socket, "readable");
  }
}
