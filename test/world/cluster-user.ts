import { randomBytes } from "node:crypto";
import { join } from "node:path";
import type { ClusterControl } from "./cluster-control.ts";
import { currentStep, oneTimeCode } from "./one-time-code.ts";
import { type Finished, output, program, type RunOptions, run } from "./program.ts";
import { until } from "./until.ts";

export interface UserOptions {
  readonly roles?: string;
  readonly logins?: string;
  /** Invite and accept, but do not log in. */
  readonly noLogin?: boolean;
  /** Folder of another tsh than the built one. */
  readonly programs?: string | undefined;
}

export interface User {
  readonly name: string;
  readonly home: string;
  /** The tsh of this user. */
  readonly executable: string;
  readonly password: string;
  /** A code that has not been used yet: waits for the next one when it must. */
  code(): Promise<string>;
  login(...args: string[]): Promise<Finished>;
  tsh(args: readonly string[], options?: RunOptions): Promise<Finished>;
}

/** Invites a user, accepts the invite as a browser would, and logs in. */
export async function makeUser(cluster: ClusterControl, options: UserOptions & { name: string; netns?: string | undefined }): Promise<User> {
  const { name, netns } = options;
  const executable = program("tsh", options.programs);
  const password = randomBytes(12).toString("base64url");
  const home = join(cluster.dir, `home-${name}`);
  const invited = await cluster.admin("users", "add", name, `--roles=${options.roles ?? "access"}`, `--logins=${options.logins ?? "root"}`);
  const token = /\/web\/invite\/([0-9a-f]+)/.exec(invited)?.[1];
  if (token === undefined) throw new Error(`no invite link in: ${invited}`);
  const url = `https://${cluster.proxy}/v1/webapi/users/invite/${token}`;
  const { otpauth_uri: uri } = JSON.parse(await output("curl", ["-ksf", url], { netns })) as { otpauth_uri: string };
  let used = currentStep();
  const answer = JSON.stringify({ password, code: oneTimeCode(uri, used) });
  await output("curl", ["-ksf", "-H", "content-type: application/json", "--data-binary", "@-", url], { netns, input: answer });
  const pin = await cluster.pin();
  const user: User = {
    ...{ name, home, executable, password },
    code: async () => {
      // The service takes the code of the next step too, and each step once.
      used = await until(
        "a fresh one-time code",
        () => {
          const now = currentStep();
          if (now > used) return now;
          return used === now ? now + 1 : undefined;
        },
        65_000,
      );
      return oneTimeCode(uri, used);
    },
    login: async (...args) =>
      user.tsh(["login", `--proxy=${cluster.proxy}`, `--user=${name}`, `--ca-pin=${pin}`, ...args], { input: `${password}\n${await user.code()}\n` }),
    tsh: (args, more = {}) => run(executable, args, { netns, ...more, env: { TSH_HOME: home, ...more.env } }),
  };
  if (options.noLogin !== true) {
    const done = await user.login();
    if (done.status !== 0) throw new Error(`tsh login: exit ${done.status}\n${done.stdout}${done.stderr}`);
  }
  return user;
}
