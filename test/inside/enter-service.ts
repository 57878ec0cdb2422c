import { once } from "node:events";
import type { Duplex } from "node:stream";
import { connect as connectTls, type TLSSocket } from "node:tls";
import type { PlatformError } from "../../core/errors/platform-error.ts";
import { alpn, roleServerName } from "../../core/transport/alpn.ts";
import { readFrame } from "../../core/transport/read-frame.ts";
import {
  decodeStreamReply,
  encodeStreamRequest,
  maxStreamMessage,
  type StreamReply,
  type StreamRequest,
} from "../../core/transport/stream-request.ts";
import { socketPair } from "./socket-pair.ts";
import type { UserKeys } from "./user-keys.ts";

export interface Entry {
  readonly request: StreamRequest;
  readonly user: Pick<UserKeys, "tlsCertificate" | "tlsPrivateKey">;
  /** Authority of hosts, PEM. */
  readonly hostCaPem: string;
  /** The service of an agent. */
  readonly serve: (stream: Duplex) => Promise<void>;
}

export interface Entered {
  /** The user's end. */
  readonly tls: TLSSocket;
  readonly served: Promise<void>;
  /** Why the agent has refused the user. */
  readonly error: PlatformError | undefined;
}

/** What a user does at a service of an agent, as a proxy lets it through: TLS inside the stream, the request, the reply. */
export async function enterService({ request, user, hostCaPem, serve }: Entry): Promise<Entered> {
  const [near, far] = await socketPair();
  const served = serve(far);
  served.catch(() => {});
  await replyOn(near);
  const tls = connectTls({
    socket: near,
    ALPNProtocols: [alpn.service],
    servername: roleServerName("node"),
    ca: hostCaPem,
    cert: user.tlsCertificate,
    key: user.tlsPrivateKey,
  });
  tls.on("error", () => {});
  await once(tls, "secureConnect");
  tls.write(encodeStreamRequest(request));
  const reply = await replyOn(tls);
  return { tls, served, error: reply.ok ? undefined : reply.error };
}

async function replyOn(stream: Duplex): Promise<StreamReply> {
  return decodeStreamReply(await readFrame(stream, { maxLength: maxStreamMessage, timeoutMs: 10_000, what: "reply" }));
}
