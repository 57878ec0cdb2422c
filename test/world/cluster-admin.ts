import type { Finished, RunOptions } from "./program.ts";

/** Actions of a cluster's admin. */
export interface ClusterAdmin {
  /** Runs tctl; never throws for its exit status. */
  tctl(args: readonly string[], options?: RunOptions): Promise<Finished>;
  /** A tctl that must succeed; its standard output. */
  admin(...args: string[]): Promise<string>;
  pin(): Promise<string>;
  /** A token for a joining host, or with `--type=…` for that type. */
  token(...args: string[]): Promise<string>;
}

/** By a tctl with all rights. The pin is asked for once, and again after a rotation: each tctl costs a fifth of a second of a processor. */
export function clusterAdmin(run: ClusterAdmin["tctl"]): ClusterAdmin {
  let pin = "";
  const tctl: ClusterAdmin["tctl"] = async (args, options) => {
    if (args.includes("rotate")) pin = "";
    return await run(args, options);
  };
  const admin: ClusterAdmin["admin"] = async (...args) => {
    const done = await tctl(args);
    if (done.status !== 0) throw new Error(`tctl ${args.join(" ")}: exit ${done.status}\n${done.stdout}${done.stderr}`);
    return done.stdout;
  };
  return {
    tctl,
    admin,
    pin: async () => {
      pin ||= /sha256:[0-9a-f]{64}/.exec(await admin("status"))?.[0] ?? "";
      return pin;
    },
    token: async (...args) => {
      const type = args.some((arg) => arg.startsWith("--type")) ? [] : ["--type=node"];
      const made = JSON.parse(await admin("tokens", "add", ...type, "--format=json", ...args)) as {
        secret?: string;
        token?: string;
        ca_pins?: string[];
      };
      pin = made.ca_pins?.[0] ?? pin;
      return made.secret ?? made.token ?? "";
    },
  };
}
