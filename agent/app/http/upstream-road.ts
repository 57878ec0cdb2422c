import type { Socket } from "node:net";
import { Attempt, ignoreError } from "../../../core/transport/dial/attempt.ts";
import { startTls } from "../../../core/transport/dial/start-tls.ts";
import type { OpenRoad } from "../../http/upstream-http1.ts";
import { dialApp } from "../dial-app.ts";
import type { OfferedApp } from "../offered-app.ts";
import type { Targets } from "../target-policy.ts";

/** Time limit of the TLS handshake, ms. */
const handshakeMs = 15_000;
/** Time for which a connection without a request is kept, ms: an application closes it some time. */
const preparedMs = 2_000;

/** Connections to one application, for one connection of a user. */
export interface UpstreamRoad {
  /** Opens the first connection before there is a request: an application that cannot be reached is the other agents' turn. Throws `unavailable`. */
  prepare(): Promise<void>;
  readonly open: OpenRoad;
  /** Drops what was prepared and not used. */
  close(): void;
}

/** The way to an application from this host's own network, never through an HTTP proxy. */
export function upstreamRoad(app: OfferedApp, targets: Targets, signal: AbortSignal): UpstreamRoad {
  const { address, name, isInsecure } = app;
  let prepared: Socket | undefined;
  let timer: NodeJS.Timeout | undefined;
  const take = async (): Promise<Socket> => {
    clearTimeout(timer);
    const ready = prepared;
    prepared = undefined;
    return ready === undefined || ready.destroyed ? await dialApp(app, targets, signal) : ready;
  };
  return {
    prepare: async () => {
      const socket = (await dialApp(app, targets, signal)).on("error", ignoreError);
      prepared = socket;
      timer = setTimeout(() => socket.destroy(), preparedMs);
    },
    open: async (protocols) => {
      const socket = await take();
      if (address.scheme !== "https") return { socket, selected: undefined };
      using attempt = new Attempt({ timeoutMs: handshakeMs, signal });
      const hint = "check the certificate of the application";
      const tls = { alpn: protocols, servername: address.host, insecure: isInsecure };
      const secure = await startTls(socket, tls, { attempt, peer: `application ${name}`, hint });
      const selected = secure.alpnProtocol === "h2" || secure.alpnProtocol === "http/1.1" ? secure.alpnProtocol : undefined;
      return { socket: secure, selected };
    },
    close: () => {
      clearTimeout(timer);
      prepared?.destroy();
    },
  };
}
