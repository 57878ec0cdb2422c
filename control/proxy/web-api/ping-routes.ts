import type { FastifyInstance } from "fastify";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { findAnswer, pingAnswer } from "./ping.ts";
import type { WebServices } from "./web-services.ts";

/** There are no named connectors: `/webapi/ping/<connector>` is a 404. */
export function pingRoutes(app: FastifyInstance, { auth, ping, versionServer }: WebServices): void {
  const upgrades = (): boolean => namesVersion(versionServer.channels);
  for (const prefix of ["", "/v1"]) {
    // Ping covers the auth service: it answers only when that does.
    app.get(`${prefix}/webapi/ping`, async () => {
      await auth.getCluster({}, { timeoutMs: 5000 });
      return pingAnswer(ping(), upgrades());
    });
    app.get(`${prefix}/webapi/find`, async () => findAnswer(ping(), upgrades()));
  }
}

/** Whether an updater gets a version; one that is unavailable now does not count. */
function namesVersion(channels: WebServices["versionServer"]["channels"]): boolean {
  try {
    return channels.read("default").version !== "none";
  } catch (thrown) {
    if (thrown instanceof PlatformError) return false;
    throw thrown;
  }
}
