import type { FastifyInstance } from "fastify";
import type { AuthClient } from "../../../core/api/auth-client.ts";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { VersionServer } from "../versions/open-version-server.ts";
import { findAnswer, type PingFacts, pingAnswer } from "./ping.ts";

export interface PingServices {
  readonly auth: Pick<AuthClient, "getCluster">;
  /** Current facts: ports are known once they are bound. */
  readonly ping: () => PingFacts;
  readonly versionServer: Pick<VersionServer, "channels">;
}

/** There are no named connectors: `/webapi/ping/<connector>` is a 404. */
export function pingRoutes(app: FastifyInstance, { auth, ping, versionServer }: PingServices): void {
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
function namesVersion(channels: PingServices["versionServer"]["channels"]): boolean {
  try {
    return channels.read("default").version !== "none";
  } catch (thrown) {
    if (thrown instanceof PlatformError) return false;
    throw thrown;
  }
}
