import type { Duplex } from "node:stream";
import { encodeStreamReply, type StreamRequest } from "../../core/transport/stream-request.ts";
import type { StreamLife } from "../service/service.ts";
import type { SshDeps } from "./deps.ts";
import { acceptLogin } from "./login/accept-login.ts";
import { Login } from "./login/login.ts";
import { serveConnection } from "./serve-connection.ts";

/** Serves one `ssh` stream: the user's SSH connection ends here. Resolves when it has ended; throws only before the reply. */
export async function serveSsh(stream: Duplex, request: StreamRequest<"ssh">, deps: SshDeps, { signal, established }: StreamLife): Promise<void> {
  const access = await deps.access.at(request.accessRevision);
  const credentials = deps.credentials();
  const login = new Login({ request, deps, access });
  stream.write(encodeStreamReply({ ok: true }));
  try {
    const { connection } = await acceptLogin({ stream, credentials, authenticate: login.authenticate, algorithms: deps.algorithms, signal });
    established();
    const { admitted } = login;
    if (admitted === undefined) throw new Error("a connection was accepted without a grant");
    await serveConnection(connection, { ...admitted, request, sessionRecording: access.sessionRecording, deps }, signal);
  } catch (thrown) {
    deps.log.info("SSH connection failed", { session: request.sessionId, client: request.clientAddress, error: thrown });
    stream.destroy();
  } finally {
    await login.end();
  }
}
