import type { AuthClient } from "../../../core/api/auth-client.ts";
import type { Log } from "../../../core/log/log.ts";
import type { Access } from "../routing/access-cache.ts";
import type { VersionServer } from "../versions/open-version-server.ts";
import type { PingFacts } from "./ping.ts";

/** Dependencies of the web API. */
export interface WebServices {
  readonly auth: AuthClient;
  readonly access: { current(): Promise<Access> };
  readonly log: Log;
  readonly clusterName: string;
  /** Current facts: ports are known once they are bound. */
  readonly ping: () => PingFacts;
  readonly versionServer: VersionServer;
  /** A folder of package repositories. */
  readonly packagesDir: string | undefined;
  readonly now: () => Date;
}
