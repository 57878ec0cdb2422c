import type { IncomingHttpHeaders } from "node:http";
import type { FastifyInstance } from "fastify";
import { WebSocketServer } from "ws";
import { PlatformError } from "../../../../core/errors/platform-error.ts";
import type { ArrivedSocket } from "../../../../core/transport/arrivals/listen.ts";
import { upgradeLimits, upgradePath, upgradeProtocol, websocketStream } from "../../../../core/transport/upgrade/websocket-stream.ts";
import type { TakeUpgrade } from "../api/api.ts";
import { refuseUpgrade } from "../api/refuse-upgrade.ts";
import { errorBody } from "./answer-errors.ts";

/**
 * Takes connection upgrades: for clients and agents behind something that ends TLS. The stream inside one is a new connection to the front door,
 * from the same address as the outer connection. The request itself grants nothing: clients authenticate inside.
 */
export function connectionUpgrade(receive: (socket: ArrivedSocket) => void): TakeUpgrade {
  const server = new WebSocketServer({ ...upgradeLimits, noServer: true, clientTracking: false, handleProtocols: () => upgradeProtocol });
  return (request, connection, head) => {
    const { remoteAddress, remotePort } = request.socket;
    connection.on("error", () => connection.destroy());
    const refusal = refusalOf(request.headers);
    if (refusal !== undefined) return refuseUpgrade(connection, refusal);
    server.handleUpgrade(request, connection, head, (socket) => receive(Object.assign(websocketStream(socket), { remoteAddress, remotePort })));
  };
}

function refusalOf({ origin, "sec-websocket-protocol": offered = "" }: IncomingHttpHeaders): PlatformError | undefined {
  // Browsers send it always, with a page of any site: their users' networks are not for it to look around in.
  if (origin !== undefined) return new PlatformError("denied", "access denied: connection upgrades are not for pages");
  if (offered.split(",").some((name) => name.trim() === upgradeProtocol)) return undefined;
  return new PlatformError("invalid", `a connection upgrade needs the WebSocket sub-protocol ${upgradeProtocol}`);
}

/** For requests that something on the way has made plain ones. */
export function plainUpgradeRoute(app: FastifyInstance): void {
  app.get(upgradePath, async (_request, reply) => {
    const error = new PlatformError("invalid", "this address is for connection upgrades: a WebSocket has to arrive as one");
    return await reply.code(426).headers({ Upgrade: "websocket", Connection: "Upgrade" }).send(errorBody(error));
  });
}
