import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import type { TLSSocket } from "node:tls";
import type { WebSocket } from "ws";
import { PlatformError } from "../../errors/platform-error.ts";
import type { Attempt } from "../dial/attempt.ts";
import { connectionError } from "../dial/connection-error.ts";
import { startTls } from "../dial/start-tls.ts";
import { formatHostPort, type HostPort } from "../host-port.ts";
import { upgradeLimits, upgradePath, upgradeProtocol, websocketStream } from "./websocket-stream.ts";

export interface UpgradeRequest {
  readonly target: HostPort;
  readonly attempt: Attempt;
  /** PEM authorities of what ends TLS; omitted for those that this machine trusts. */
  readonly balancerCa?: readonly string[] | undefined;
}

/**
 * A connection upgrade over a connection, which is destroyed when it fails: TLS as a browser has it, with whatever has a certificate for the address, and in it a
 * WebSocket to the proxy's front door. Throws what `startTls` throws.
 */
export async function upgradeOver(connection: Duplex, request: UpgradeRequest): Promise<Duplex> {
  const { target, attempt, balancerCa: ca } = request;
  const about = { attempt, peer: `${formatHostPort(target)} (for a connection upgrade)`, hint: "check the address and its port" };
  return await requestUpgrade(await startTls(connection, { alpn: ["http/1.1"], servername: target.host, ca }, about), request);
}

/** `ws` is loaded with the first request. */
async function requestUpgrade(outer: TLSSocket, { target, attempt }: UpgradeRequest): Promise<Duplex> {
  const where = formatHostPort(target);
  attempt.waitingFor = `the connection upgrade at ${where}`;
  const { WebSocket: WebSocketClient } = await import("ws");
  const { signal } = attempt;
  signal.throwIfAborted();
  const socket = new WebSocketClient(`ws://${where}${upgradePath}`, [upgradeProtocol], {
    ...upgradeLimits,
    followRedirects: false,
    headers: { "User-Agent": "platform" },
    createConnection: () => outer,
  });
  try {
    return await opened(socket, { where, signal });
  } catch (thrown) {
    socket.on("error", () => {}).terminate();
    outer.destroy();
    throw thrown;
  }
}

function opened(socket: WebSocket, { where, signal }: { readonly where: string; readonly signal: AbortSignal }): Promise<Duplex> {
  return new Promise((resolve, reject) => {
    const settle = (act: () => void): void => {
      signal.removeEventListener("abort", stop);
      socket.off("open", done).off("error", fail).off("unexpected-response", refuse);
      act();
    };
    const stop = (): void => settle(() => reject(signal.reason));
    // At once: bytes may have come with the answer.
    const done = (): void => settle(() => resolve(websocketStream(socket)));
    const fail = (cause: Error): void => settle(() => reject(connectionError(cause, { message: `no connection upgrade at ${where}`, hint: passOn })));
    const refuse = (_request: unknown, { statusCode = 0 }: IncomingMessage): void => settle(() => reject(refused(where, statusCode)));
    socket.on("open", done).on("error", fail).on("unexpected-response", refuse);
    signal.addEventListener("abort", stop, { once: true });
  });
}

const passOn = "let the balancer pass WebSockets on to the proxy (docs/load-balancers.md)";

function refused(where: string, status: number): PlatformError {
  return new PlatformError("unavailable", `${where} returned status ${status} instead of upgrading the connection`, {
    hint: status === 404 ? "check that this is the web address of the proxy, and that its version knows connection upgrades" : passOn,
  });
}
