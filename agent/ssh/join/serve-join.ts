import type { Duplex } from "node:stream";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { joinModes } from "../../../core/resources/session.ts";
import { encodeStreamReply, type StreamRequest } from "../../../core/transport/stream-request.ts";
import type { StreamLife } from "../../service/service.ts";
import type { SshDeps } from "../deps.ts";
import { acceptLogin } from "../login/accept-login.ts";
import { JoinLogin } from "./join-login.ts";
import { serveJoined } from "./serve-joined.ts";

/** Serves one `join` stream: a user who joins a running session. Throws only before the reply. */
export async function serveJoin(stream: Duplex, request: StreamRequest<"join">, deps: SshDeps, { signal, established }: StreamLife): Promise<void> {
  const mode = joinModes.find((one) => one === request.parameters.mode);
  if (mode === undefined) throw new PlatformError("invalid", "unknown join mode; use observer or peer");
  const access = await deps.access.at(request.accessRevision);
  const credentials = deps.credentials();
  const login = new JoinLogin({ request, mode, deps, access });
  stream.write(encodeStreamReply({ ok: true }));
  try {
    const { connection } = await acceptLogin({ stream, credentials, authenticate: login.authenticate, algorithms: deps.algorithms, signal });
    established();
    const { admitted } = login;
    if (admitted === undefined) throw new Error("a connection was accepted without a grant");
    await serveJoined(connection, { ...admitted, mode, request, deps }, signal);
  } catch (thrown) {
    deps.log.info("could not join a session", { session: request.target, client: request.clientAddress, error: thrown });
    stream.destroy();
  } finally {
    await login.end();
  }
}
