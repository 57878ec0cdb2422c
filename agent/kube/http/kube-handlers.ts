import type { HttpHandlers } from "../../http/http-handlers.ts";
import type { KubeSession } from "../kube-session.ts";
import { serveRequest } from "./serve-request.ts";
import { serveUpgrade } from "./serve-upgrade.ts";
import { plainStatus } from "./status-response.ts";

/** How a connection of a user to a Kubernetes cluster is served. */
export function kubeHandlers(session: KubeSession): HttpHandlers {
  return {
    exchange: async (asked, answer) => await serveRequest(asked, answer, session),
    upgrade: async (request, socket) => await serveUpgrade(request, socket, session),
    refusal: plainStatus,
  };
}
