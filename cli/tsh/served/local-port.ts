import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { errorText, PlatformError, toPlatformError } from "../../../core/errors/platform-error.ts";
import { formatHostPort } from "../../../core/transport/host-port.ts";
import type { CliIo } from "../../io.ts";
import { writeError } from "../../output.ts";

/** Maximum number of simultaneous connections. */
const maxConnections = 1000;
export const loopback = "127.0.0.1";

export interface LocalPort extends AsyncDisposable {
  readonly port: number;
  /** `127.0.0.1:port` */
  readonly address: string;
  /** Resolves when it has closed. */
  readonly closed: Promise<void>;
}

/**
 * A port of 127.0.0.1 whose connections `serve` handles; a failure of one is printed and ends that one. `port` 0 is any free one. Throws `unavailable`.
 */
export async function openLocalPort(io: CliIo, port: number, serve: (socket: Socket, signal: AbortSignal) => Promise<void>): Promise<LocalPort> {
  const stop = new AbortController();
  const handle = async (socket: Socket): Promise<void> => {
    socket.on("error", () => {});
    try {
      await serve(socket, stop.signal);
    } catch (thrown) {
      // It may be in the words of another host.
      writeError(io, toPlatformError(thrown));
      socket.destroy();
    }
  };
  const server = createServer({ allowHalfOpen: true, pauseOnConnect: true, noDelay: true }, (socket) => void handle(socket));
  server.maxConnections = maxConnections;
  server.listen(port, loopback);
  try {
    await once(server, "listening");
  } catch (cause) {
    throw new PlatformError("unavailable", `could not listen on ${loopback}:${port}: ${errorText(cause)}`, {
      cause,
      hint: "choose another port with --port",
    });
  }
  const bound = (server.address() as AddressInfo).port;
  // A connection that the system does not let it accept (EMFILE) is lost; the others stay.
  server.on("error", (thrown) => writeError(io, toPlatformError(thrown)));
  const closed = new Promise<void>((resolve) => server.once("close", resolve)).then(() => stop.abort());
  return {
    port: bound,
    address: formatHostPort({ host: loopback, port: bound }),
    closed,
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      server.close();
      await closed;
    },
  };
}

/** The port of --port; 0: any free one. Throws `invalid`. */
export function portOption(text: string | undefined): number {
  if (text === undefined) return 0;
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
  if (port >= 0 && port <= 65_535) return port;
  throw new PlatformError("invalid", `--port ${JSON.stringify(text)} is not a port`, {
    hint: "give a number from 0 to 65535; 0 takes any free port",
  });
}
