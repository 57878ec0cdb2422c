import { once } from "node:events";
import { connect as connectTls, type TLSSocket } from "node:tls";
import { alpn, roleServerName } from "../../core/transport/alpn.ts";
import { readFrame } from "../../core/transport/read-frame.ts";
import {
  decodeStreamReply,
  encodeStreamRequest,
  maxStreamMessage,
  type StreamReply,
  type StreamRequest,
} from "../../core/transport/stream-request.ts";
import type { TestCluster } from "./open-cluster.ts";
import type { UserKeys } from "./user-keys.ts";

/** What `tsh` does: a stream to `target`, and the first answer on it. */
export async function askForStream(
  cluster: TestCluster,
  keys: Pick<UserKeys, "tlsCertificate" | "tlsPrivateKey"> | undefined,
  ask: { target: string; login?: string },
): Promise<{ tls: TLSSocket; reply: StreamReply }> {
  const { target, login = "root" } = ask;
  return await requestStream(cluster, keys, { kind: "ssh", target, parameters: { login }, clientAddress: "", sessionId: "", accessRevision: "" });
}

/** The same with any request. */
export async function requestStream(
  cluster: TestCluster,
  keys: Pick<UserKeys, "tlsCertificate" | "tlsPrivateKey"> | undefined,
  request: StreamRequest,
): Promise<{ tls: TLSSocket; reply: StreamReply }> {
  const tls = await connectStream(cluster, keys);
  tls.write(encodeStreamRequest(request));
  const reply = decodeStreamReply(await readFrame(tls, { maxLength: maxStreamMessage, timeoutMs: 10_000, what: "reply" }));
  return { tls, reply };
}

export async function connectStream(cluster: TestCluster, keys: Pick<UserKeys, "tlsCertificate" | "tlsPrivateKey"> | undefined): Promise<TLSSocket> {
  const tls = connectTls({
    socket: await cluster.open(),
    ALPNProtocols: [alpn.stream],
    servername: roleServerName("proxy"),
    ca: [...cluster.hostCaPem],
    ...(keys && { cert: keys.tlsCertificate, key: keys.tlsPrivateKey }),
  });
  tls.on("error", () => {});
  await once(tls, "secureConnect");
  return tls;
}
