import type { ClusterAdmin } from "./cluster-admin.ts";
import type { Ports } from "./cluster-config.ts";

/** A control server as its agents, users and further proxies need it. */
export interface ClusterControl extends ClusterAdmin {
  /** A folder of this host. */
  readonly dir: string;
  readonly ports: Ports;
  /** `name:port` of the web address. */
  readonly proxy: string;
}
