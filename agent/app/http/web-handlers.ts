import { isWebSocketUpgrade } from "../../../core/resources/app-headers.ts";
import type { HttpHandlers } from "../../http/http-handlers.ts";
import { HttpRefusal, refusalResponse } from "./http-refusal.ts";
import type { HttpSession } from "./http-session.ts";
import { serveExchange } from "./serve-exchange.ts";
import { serveUpgrade } from "./serve-upgrade.ts";

/** How a connection of a user to a web application is served. */
export function webHandlers(session: HttpSession): HttpHandlers {
  return {
    exchange: async (asked, answer) => await serveExchange(asked, answer, session),
    upgrade: async (request, socket) => await serveUpgrade(request, socket, session),
    takesUpgrade: isWebSocketUpgrade,
    refusal: (status, message) => refusalResponse(new HttpRefusal(status, message), []),
  };
}
