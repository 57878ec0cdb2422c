import type { FastifyInstance } from "fastify";
import { formatHostPort } from "../../../../core/transport/host-port.ts";
import { type PingFacts, publicAddress } from "../ping.ts";
import { installScript } from "./install-script.ts";

/** `GET /scripts/install.sh`: the install script, with this proxy's address filled in. */
export function scriptRoute(app: FastifyInstance, { ping }: { ping: () => PingFacts }): void {
  app.get("/scripts/install.sh", async (_request, reply) => {
    const script = fillScript(installScript(), formatHostPort(publicAddress(ping())));
    return await reply.type("text/x-shellscript; charset=utf-8").send(script);
  });
}

/** The line of the install script for the address of the proxy that serves it. */
const emptyLine = /^PLATFORM_PROXY=''$/m;

/** The install script with the proxy's public address filled in, quoted for the shell. Throws Error when it has no such line. */
export function fillScript(script: string, proxy: string): string {
  if (!emptyLine.test(script)) throw new Error("scripts/install.sh has no line PLATFORM_PROXY=''");
  return script.replace(emptyLine, () => `PLATFORM_PROXY='${proxy.replaceAll("'", "'\\''")}'`);
}
