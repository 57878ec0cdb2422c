import type { Duplex } from "node:stream";
import { speaksHttp } from "../../core/resources/app-uri.ts";
import { targetPort } from "../../core/resources/tcp-ports.ts";
import type { StreamRequest } from "../../core/transport/stream-request.ts";
import { type ServedSession, serveServed } from "../service/serve-served.ts";
import type { StreamLife } from "../service/service.ts";
import type { AppDeps } from "./app-deps.ts";
import { dialApp } from "./dial-app.ts";
import type { OfferedApp } from "./offered-app.ts";
import { runAppSession } from "./run-app-session.ts";
import { runWebSession } from "./run-web-session.ts";

/** Serves one `app` stream: the user's TLS ends here, and its bytes go on to the application. Throws only before the reply to the proxy. */
export async function serveApp(stream: Duplex, request: StreamRequest<"app">, deps: AppDeps, life: StreamLife): Promise<void> {
  const { port } = request.parameters;
  const run = async (session: ServedSession<"app", OfferedApp>): Promise<void> => await serveUser(session, { port, deps, signal: life.signal });
  await serveServed({ stream, request, resource: deps.findApp(request.target) }, run, deps, life);
}

interface Serving {
  /** The target port that the user has asked for. */
  readonly port: string | undefined;
  readonly deps: AppDeps;
  readonly signal: AbortSignal;
}

async function serveUser(served: ServedSession<"app", OfferedApp>, { port: asked, deps, signal }: Serving): Promise<void> {
  const { tls, resource: app, sid, clientAddress, access, grant, lease, judge } = served;
  const port = targetPort(app, asked);
  const session = { tls, grant, sid, app, lease, clientAddress };
  if (!speaksHttp(app.address))
    return await runAppSession({ ...session, port, upstream: await dialApp({ ...app, port }, deps.targets, signal) }, deps, signal);
  // Requests go out in the user's name as long as the rules allow it.
  const { certificate = Buffer.alloc(0) } = served;
  await runWebSession({ ...session, certificate, judge, recordingMode: access.sessionRecording }, deps, signal);
}
