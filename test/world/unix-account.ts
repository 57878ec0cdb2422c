import { userInfo } from "node:os";
import { output, run } from "./program.ts";

export interface UnixAccount extends AsyncDisposable {
  readonly login: string;
}

/** A throw-away Unix user to become, when the tests run as root; else their own user, as whom alone an agent can serve. */
export async function makeAccount(prefix: string): Promise<UnixAccount> {
  const own = userInfo();
  if (own.uid !== 0) return { login: own.username, [Symbol.asyncDispose]: async () => {} };
  const login = `${prefix}${process.pid.toString(36)}`;
  // An impossible password: without any, sshd takes the account for locked.
  await output("useradd", ["-m", "-s", "/bin/bash", "-p", "*", login]);
  return {
    login,
    [Symbol.asyncDispose]: async () => {
      await run("userdel", ["-r", login]);
    },
  };
}
