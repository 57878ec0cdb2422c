import type { Duplex } from "node:stream";
import type { StreamRequest } from "../../core/transport/stream-request.ts";
import type { StreamLife } from "../service/service.ts";
import type { SshDeps } from "./deps.ts";
import { admitLogin } from "./login/login.ts";
import { serveConnection } from "./serve-connection.ts";
import { serveUser } from "./serve-user.ts";

/** Serves one `ssh` stream: the user's SSH connection ends here. Resolves when it has ended; throws only before the reply. */
export async function serveSsh(stream: Duplex, request: StreamRequest<"ssh">, deps: SshDeps, life: StreamLife): Promise<void> {
  const access = await deps.access.at(request.accessRevision);
  const { sessionRecording } = access;
  await serveUser({
    stream,
    request,
    deps,
    access,
    life,
    admission: admitLogin(request, deps),
    serve: (connection, admitted) => serveConnection(connection, { ...admitted, request, sessionRecording, deps }, life.signal),
  });
}
