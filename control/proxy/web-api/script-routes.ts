import type { FastifyInstance } from "fastify";
import { formatHostPort } from "../../../core/transport/host-port.ts";
import { fillScript } from "./fill-script.ts";
import { installScript } from "./install-script.ts";
import { type PingFacts, publicAddress } from "./ping.ts";

/** `GET /scripts/install.sh`: the install script, with this proxy's address filled in. */
export function scriptRoutes(app: FastifyInstance, { ping }: { ping: () => PingFacts }): void {
  app.get("/scripts/install.sh", async (_request, reply) => {
    const script = fillScript(installScript(), formatHostPort(publicAddress(ping())));
    return await reply.type("text/x-shellscript; charset=utf-8").send(script);
  });
}
