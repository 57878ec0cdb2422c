import type { Ports } from "./cluster-config.ts";

/** A control server as its agents, users and further proxies need it. */
export interface ClusterControl {
  readonly dir: string;
  readonly ports: Ports;
  /** `name:port` of the web address. */
  readonly proxy: string;
  /** A tctl that must succeed; its standard output. */
  admin(...args: string[]): Promise<string>;
  pin(): Promise<string>;
  token(...args: string[]): Promise<string>;
}
