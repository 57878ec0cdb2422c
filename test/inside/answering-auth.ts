import { once } from "node:events";
import { createServer, type Http2ServerRequest, type Http2ServerResponse, type Http2Session } from "node:http2";
import { type Duplex, duplexPair } from "node:stream";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { type AuthClient, openAuthClient } from "../../core/api/auth-client.ts";
import { AuthService } from "../../core/api/generated/platform/auth/v1/auth_pb.ts";
import { leaveHandshake } from "../../core/node-internals/leave-handshake.ts";
import { hostContext, terminateTls } from "../../core/transport/arrivals/server-tls.ts";
import { insideAuthorities } from "./authorities.ts";

export interface ArrivedCall {
  readonly session: Http2Session;
  answer(): void;
}

export interface AnsweringAuth extends Disposable {
  readonly client: AuthClient;
  /** The next call that arrives. */
  arrival(): Promise<ArrivedCall>;
  renew(): void;
  /** The host at the other end of all connections so far is gone, without a word. */
  vanish(): void;
  /** Connections so far. */
  opened(): number;
}

/** A client, and an auth service that answers when the test says so. */
export async function openAnsweringAuth(): Promise<AnsweringAuth> {
  const own = await insideAuthorities();
  const context = hostContext(await own.host("auth-1", { role: "auth" }));
  const answer = connectNodeAdapter({ routes: (router) => router.service(AuthService, { getCluster: () => ({ clusterName: "test" }) }) });
  const server = createServer();
  let opened = 0;
  const wires: Duplex[] = [];
  const open = async () => {
    opened += 1;
    const [[near, one], [other, far]] = [duplexPair(), duplexPair()];
    for (const [from, to] of [
      [one, other],
      [other, one],
    ] as const) {
      from.on("error", () => {}).on("data", (chunk: Buffer) => to.write(chunk));
      wires.push(from);
    }
    const accepted = terminateTls(far, { context, alpn: "h2" }).then((tls) => {
      leaveHandshake(tls);
      server.emit("connection", tls);
    });
    accepted.catch(() => {});
    return near;
  };
  const connection = openAuthClient({ open, ca: [own.hostCaPem], timeoutMs: 5_000, silence: { idleMs: 150, answerMs: 150 } });
  return {
    client: connection.client,
    arrival: async () => {
      const [request, response] = (await once(server, "request")) as [Http2ServerRequest, Http2ServerResponse];
      const { session } = request.stream;
      if (session === undefined) throw new Error("the call is over");
      return { session, answer: () => answer(request, response) };
    },
    renew: () => connection.renew(),
    vanish: () => {
      for (const wire of wires.splice(0)) wire.removeAllListeners("data").resume();
    },
    opened: () => opened,
    [Symbol.dispose]: () => connection.close(),
  };
}
