import type { FastifyInstance } from "fastify";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { findAnswer, pingAnswer } from "./ping.ts";
import type { WebServices } from "./web-services.ts";

/** Without a connector of that name there is nothing to answer: `/webapi/ping/<connector>` is a 404. */
export function pingRoutes(app: FastifyInstance, { auth, ping, versionServer }: WebServices): void {
  const upgrades = (): boolean => namesVersion(versionServer.channels);
  for (const prefix of ["", "/v1"]) {
    // Ping vouches for the auth service: it answers only when that does.
    app.get(`${prefix}/webapi/ping`, async () => {
      await auth.getCluster({}, { timeoutMs: 5000 });
      return pingAnswer(ping(), upgrades());
    });
    app.get(`${prefix}/webapi/find`, async () => findAnswer(ping(), upgrades()));
  }
}

/** Whether an updater is told a version; one that cannot be had now is none. */
function namesVersion(channels: WebServices["versionServer"]["channels"]): boolean {
  try {
    return channels.read("default").version !== "none";
  } catch (thrown) {
    if (thrown instanceof PlatformError) return false;
    throw thrown;
  }
}
