import { join } from "node:path";
import type { Cluster } from "./cluster.ts";
import { type Finished, program, run } from "./program.ts";

/** A file that `tctl auth sign` writes for a user, for 8 hours: an identity of a machine, which belongs to no proxy. Returns its path. */
export async function signIdentity(cluster: Cluster, user: string, ...more: readonly string[]): Promise<string> {
  const file = join(cluster.dir, `${user}.id`);
  await cluster.admin("auth", "sign", `--user=${user}`, "--ttl=8h", ...more, `--out=${file}`);
  return file;
}

export interface EchoedAt {
  /** Path of an identity. */
  readonly identity: string;
  /** Address of the proxy. */
  readonly proxy: string;
  /** `login@host`. */
  readonly at: string;
}

/** `tsh ssh` of an identity through a proxy, whose command prints `through`. */
export async function echoThrough(cluster: Cluster, { identity, proxy, at }: EchoedAt): Promise<Finished> {
  const args = ["-i", identity, `--proxy=${proxy}`, "ssh", at, "echo through"];
  return await run(program("tsh"), args, { env: { TSH_HOME: join(cluster.dir, "nobody") }, limitMs: 20_000 });
}
