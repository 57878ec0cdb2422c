import type { Socket } from "node:net";
import type { HostCredentials } from "../../core/api/host-credentials.ts";
import { PlatformError } from "../../core/errors/platform-error.ts";
import { alpn, roleServerName } from "../../core/transport/alpn.ts";
import { Attempt, ignoreError } from "../../core/transport/dial/attempt.ts";
import type { Env } from "../../core/transport/dial/choose-proxy.ts";
import { dial } from "../../core/transport/dial/dial.ts";
import { dialTls } from "../../core/transport/dial/dial-tls.ts";
import { discoverTunnel } from "../../core/transport/discover-tunnel.ts";
import { formatHostPort, type HostPort } from "../../core/transport/host-port.ts";
import type { Said } from "./examination.ts";

interface TunnelAsk {
  readonly target: HostPort;
  readonly env: Env;
  readonly credentials: HostCredentials;
}

/** Where the proxy takes tunnels, and that it speaks SSH there. Throws PlatformError. */
export async function examineTunnel({ target, env, credentials }: TunnelAsk): Promise<Said> {
  const ca = credentials.hostCaPem;
  const { address, tls } = await discoverTunnel({ proxy: target, hostCa: ca, env });
  const where = formatHostPort(address);
  const secured = { alpn: [alpn.tunnel], servername: roleServerName("proxy"), ca };
  const socket = tls ? await dialTls(address, secured, { env }) : await dial(address, { env });
  socket.on("error", ignoreError);
  try {
    const banner = await firstBytes(socket, where);
    if (banner.startsWith("SSH-2.0-")) return { says: `the proxy takes tunnels at ${where}${tls ? ", inside TLS" : ""}` };
    throw new PlatformError("unavailable", `${where} takes a connection, but speaks no SSH`, { hint: "check tunnel_public_addr of the proxy" });
  } finally {
    socket.destroy();
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
