import type { Finished, RunOptions } from "./program.ts";

type Run = (args: readonly string[], options?: RunOptions) => Promise<Finished>;

/** Actions of a cluster's admin. */
export interface ClusterAdmin {
  /** Runs tctl; never throws for its exit status. */
  readonly tctl: Run;
  /** A command of tctl that must succeed; its standard output. For what a test sets up and waits for: `tctl` is the program as admins run it. */
  admin(...args: string[]): Promise<string>;
  /** Creates a resource by its document, YAML or JSON, or replaces it; throws with tctl's words where it is refused. */
  put(document: string): Promise<void>;
  pin(): Promise<string>;
  /** A token for a joining host, or with `--type=…` for that type. */
  token(...args: string[]): Promise<string>;
}

/**
 * By a tctl with all rights; `quick`: its commands without the program, where that is possible. The pin is asked for once, and again after
 * a rotation.
 */
export function clusterAdmin(run: Run, quick: Run = run): ClusterAdmin {
  let pin = "";
  const by =
    (how: Run): Run =>
    async (args, options) => {
      if (args.includes("rotate")) pin = "";
      return await how(args, options);
    };
  const quickly = by(quick);
  const must = async (args: readonly string[], options?: RunOptions): Promise<string> => {
    const done = await quickly(args, options);
    if (done.status !== 0) throw new Error(`tctl ${args.join(" ")}: exit ${done.status}\n${done.stdout}${done.stderr}`);
    return done.stdout;
  };
  const admin: ClusterAdmin["admin"] = async (...args) => await must(args);
  return {
    tctl: by(run),
    admin,
    put: async (document) => void (await must(["create", "-f", "-"], { input: document })),
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
