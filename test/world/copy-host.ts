import { chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "vitest";
import { type Cluster, startCluster } from "./cluster.ts";
import type { User } from "./cluster-user.ts";
import { output, program, run } from "./program.ts";
import { makeAccount } from "./unix-account.ts";

/** A cluster with the host web-1, a Unix user there, and alice, who may log in as that user and as root. */
export interface CopyHost extends AsyncDisposable {
  readonly cluster: Cluster;
  readonly alice: User;
  /** The Unix user: a throw-away one if the tests run as root, else their own. */
  readonly login: string;
  /** A folder of this end's files. */
  readonly dir: string;
  /** A folder of the Unix user on the host. */
  readonly far: string;
  /** Path of the stanza that `tsh config` printed for alice. */
  readonly config: string;
  /** Of the programs that alice starts. */
  env(): Record<string, string>;
  /** Path of a new folder in `far`. */
  fresh(name: string): Promise<string>;
  /** Runs a stock program of alice, which has to succeed; its output. */
  stock(command: string, ...args: readonly string[]): Promise<string>;
}

export async function openCopyHost(): Promise<CopyHost> {
  await using stack = new AsyncDisposableStack();
  const { login } = stack.use(await makeAccount("pf"));
  const dir = stack.adopt(await mkdtemp(join(tmpdir(), "platform-copy-")), async (folder) => await rm(folder, { recursive: true, force: true }));
  const cluster = stack.use(await startCluster());
  await cluster.agent({ name: "web-1" });
  const alice = await cluster.user("alice", { logins: `${login},root` });
  const [config, far] = [join(dir, "config"), join(dir, "far")];
  await writeFile(config, (await alice.tsh(["config"])).stdout);
  await chmod(dir, 0o755);
  const makeFolder = async (path: string): Promise<string> => {
    await mkdir(path);
    await output("chown", [`${login}:`, path]);
    return path;
  };
  await makeFolder(far);
  const env = () => ({ TSH_HOME: alice.home, PATH: `${join(program("tsh"), "..")}:${process.env.PATH ?? ""}` });
  const held = stack.move();
  return {
    cluster,
    alice,
    login,
    dir,
    far,
    config,
    env,
    fresh: async (name) => await makeFolder(join(far, name)),
    stock: async (command, ...args) => {
      const git = { GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_NOSYSTEM: "1" };
      const done = await run(command, args, { env: { ...env(), ...git }, limitMs: 90_000 });
      expect(done, `${command} ${args.join(" ")}\n${done.stdout}${done.stderr}`).toMatchObject({ status: 0 });
      return done.stdout;
    },
    [Symbol.asyncDispose]: async () => await held.disposeAsync(),
  };
}
