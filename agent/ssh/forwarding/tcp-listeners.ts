import { createServer, Server } from "node:net";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { systemText } from "./system-text.ts";

/** As sshd's `GatewayPorts no`: whatever the client asks for, only this host itself can connect. */
const loopbacks = ["127.0.0.1", "::1"] as const;
/** Tries to find a port that is free on both. */
const mostTries = 8;

/** Listens on both loopback addresses; port 0 chooses one. At least one must work. Throws `unavailable`. */
export async function listenOnLoopback(port: number): Promise<{ readonly servers: readonly Server[]; readonly port: number }> {
  for (let tries = 1; ; tries += 1) {
    const first = await listen(loopbacks[0], port).catch(systemError);
    const chosen = first instanceof Error ? port : portOf(first);
    const second = await listen(loopbacks[1], chosen).catch(systemError);
    const servers = [first, second].filter((one): one is Server => one instanceof Server);
    // A host without IPv6 has one; a port that somebody else holds on the other address would be theirs.
    const isTaken = [first, second].some((one) => one instanceof Error && one.code === "EADDRINUSE");
    const [bound] = servers;
    if (bound !== undefined && !isTaken) return { servers, port: portOf(bound) };
    for (const server of servers) server.close();
    if (port !== 0 || !isTaken || tries === mostTries) throw new PlatformError("unavailable", systemText([first, second].find(isError)));
  }
}

function isError(value: unknown): value is Error {
  return value instanceof Error;
}

function systemError(thrown: unknown): NodeJS.ErrnoException {
  return thrown as NodeJS.ErrnoException;
}

function portOf(server: Server): number {
  const address = server.address();
  return typeof address === "object" && address !== null ? address.port : 0;
}

function listen(host: string, port: number): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer({ allowHalfOpen: true, pauseOnConnect: true, noDelay: true });
    server.once("error", reject).listen({ host, port, ipv6Only: host.includes(":"), backlog: 128 }, () => resolve(server));
  });
}
