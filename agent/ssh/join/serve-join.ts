import type { Duplex } from "node:stream";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { joinModes } from "../../../core/resources/session.ts";
import type { StreamRequest } from "../../../core/transport/stream-request.ts";
import type { StreamLife } from "../../service/service.ts";
import type { SshDeps } from "../deps.ts";
import { serveUser } from "../serve-user.ts";
import { admitJoin } from "./admit-join.ts";
import { serveJoined } from "./serve-joined.ts";

/** Serves one `join` stream: a user who joins a running session. Throws only before the reply. */
export async function serveJoin(stream: Duplex, request: StreamRequest<"join">, deps: SshDeps, life: StreamLife): Promise<void> {
  const mode = joinModes.find((one) => one === request.parameters.mode);
  if (mode === undefined) throw new PlatformError("invalid", "unknown join mode; use observer or peer");
  const access = await deps.access.at(request.accessRevision);
  await serveUser({
    stream,
    request,
    deps,
    access,
    life,
    sid: request.target,
    admission: admitJoin(request, mode, deps),
    serve: (connection, admitted) => serveJoined(connection, { ...admitted, mode, request, deps }, life.signal),
  });
}
