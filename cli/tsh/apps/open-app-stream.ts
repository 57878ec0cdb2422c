import type { TLSSocket } from "node:tls";
import { alpn, roleServerName } from "../../../core/transport/alpn.ts";
import { Attempt } from "../../../core/transport/dial/attempt.ts";
import { startTls } from "../../../core/transport/dial/start-tls.ts";
import { readFrame } from "../../../core/transport/read-frame.ts";
import { decodeStreamReply, encodeStreamRequest, maxStreamMessage } from "../../../core/transport/stream-request.ts";
import type { CliIo } from "../../io.ts";
import type { Profile } from "../../profile/profile.ts";
import { credentialsFor } from "../../profile/resource-certificates.ts";
import { openStream } from "../open-stream.ts";

/** Time limit of the agent's TLS, and then of its answer, which waits for the application, ms. */
const answerMs = 30_000;

/**
 * A connection to an application: TLS that ends at the agent, inside the stream through the proxy. The request is repeated in it, so
 * that the proxy cannot turn it into another. Throws the refusal of the proxy or the agent.
 */
export async function openAppStream(io: CliIo, profile: Profile, app: string): Promise<TLSSocket> {
  const { hostCaPem: ca } = profile;
  const outer = await openStream(io, { profile, kind: "app", target: app, parameters: {} });
  using attempt = new Attempt({ timeoutMs: answerMs });
  const identity = credentialsFor(profile, { kind: "app", name: app }, new Date());
  const tls = { alpn: [alpn.service], servername: roleServerName("node"), ca, ...identity };
  const inner = await startTls(outer, tls, {
    attempt,
    peer: `the agent that offers ${app}`,
    hint: "check that no device intercepts TLS between the proxy and the agent",
  });
  try {
    inner.write(encodeStreamRequest({ kind: "app", target: app, parameters: {}, clientAddress: "", sessionId: "", accessRevision: "" }));
    const reply = decodeStreamReply(await readFrame(inner, { maxLength: maxStreamMessage, timeoutMs: answerMs, what: "answer of the agent" }));
    if (!reply.ok) throw reply.error;
    return inner;
  } catch (thrown) {
    inner.on("error", () => {}).destroy();
    throw thrown;
  }
}
