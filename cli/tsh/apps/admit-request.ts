import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { sayFarewell } from "../../../core/databases/say-farewell.ts";
import { readStart } from "../../../core/transport/arrivals/peek.ts";
import { formatHostPort, type HostPort } from "../../../core/transport/host-port.ts";
import { plainAnswer } from "../../../core/transport/plain-answer.ts";
import { type FirstRequest, firstRequest, loopbackHosts, startsRequest } from "./own-host.ts";

/** Time until the first request is complete, ms: as at the agent. */
const firstMs = 20_000;

export interface LocalClient {
  readonly socket: Socket;
  /** Further names of the local port. */
  readonly hosts: readonly HostPort[];
  /** Whether the application speaks HTTP; undefined: not known. */
  readonly isHttp: boolean | undefined;
  readonly signal: AbortSignal;
}

/**
 * Whether the first request of a client names the local port as its host; it stays in the stream. Any other client is answered, and its connection ended. A
 * browser sends the requests of one host alone over a connection. Never throws.
 */
export async function admitRequest({ socket, hosts, isHttp, signal }: LocalClient): Promise<boolean> {
  const own = [...loopbackHosts(socket.localPort ?? 0), ...hosts];
  let first: FirstRequest;
  try {
    first = await readStart(socket, { timeoutMs: firstMs, signal }, (bytes) => {
      const value: FirstRequest | undefined = isHttp === undefined && !startsRequest(bytes) ? { kind: "other protocol" } : firstRequest(bytes, own);
      return value && { value, used: 0 };
    });
  } catch {
    // A client that is silent, or has left: browsers open connections before they need them.
    socket.destroy();
    return false;
  }
  if (first.kind === "own" || (first.kind === "other protocol" && isHttp !== true)) return true;
  await sayFarewell(socket, plainAnswer(...answerTo(first, formatHostPort({ host: "127.0.0.1", port: socket.localPort ?? 0 }))), signal);
  return false;
}

/** Whether the client of a connection sends something before the application does. Never throws. */
export async function speaksFirst(client: Duplex, app: Duplex, signal: AbortSignal): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const ofClient = (): void => resolve(true);
  const ofApp = (): void => resolve(false);
  client.on("readable", ofClient).on("close", ofApp);
  app.on("readable", ofApp).on("close", ofApp);
  signal.addEventListener("abort", ofApp);
  if (signal.aborted || client.destroyed || app.destroyed) ofApp();
  const isClient = await promise;
  client.off("readable", ofClient).off("close", ofApp);
  app.off("readable", ofApp).off("close", ofApp);
  signal.removeEventListener("abort", ofApp);
  return isClient;
}

function answerTo(first: FirstRequest, address: string): readonly [status: string, text: string] {
  if (first.kind === "foreign") {
    const host = JSON.stringify(first.host.slice(0, 255));
    const way = `open http://${address}, or name the host when you start the command: tsh proxy app <name> --host=<host>`;
    return ["421 Misdirected Request", `this port of tsh serves ${address} and localhost, and the request is for the host ${host}\n${way}\n`];
  }
  if (first.kind === "too long") return ["431 Request Header Fields Too Large", "the headers of the request are too long\n"];
  return ["400 Bad Request", "the request is malformed: this port of tsh serves a web application\n"];
}
