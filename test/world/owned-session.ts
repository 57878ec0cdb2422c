import { userInfo } from "node:os";
import type { User } from "./cluster-user.ts";
import { type HeldSession, holdSession } from "./held-session.ts";
import { until } from "./until.ts";

export interface ListedSession {
  readonly sid: string;
  readonly user: string;
  readonly server_name: string;
  readonly pod?: { readonly cluster: string; readonly namespace: string; readonly name: string };
  readonly participants: readonly { readonly user: string; readonly mode: string }[];
  readonly modes: readonly string[];
}

/** What `tsh sessions ls` shows to a user. */
export async function listSessions(user: User): Promise<ListedSession[]> {
  const done = await user.tsh(["sessions", "ls", "--format=json"]);
  if (done.status !== 0) throw new Error(done.stderr);
  return JSON.parse(done.stdout) as ListedSession[];
}

/** A user's terminal on web-1, as the account that the tests run as: it shows `<word>-begins` and then runs `command`. With its id. */
export async function ownSession(user: User, word: string, command = "cat"): Promise<{ session: HeldSession; sid: string }> {
  const before = new Set((await listSessions(user)).map(({ sid }) => sid));
  const session = holdSession(user, ["ssh", "-tt", `${userInfo().username}@web-1`, `echo ${word}-begins; ${command}`]);
  await session.until(`${word}-begins`);
  const sid = await until("the session is listed", async () => (await listSessions(user)).find((one) => !before.has(one.sid))?.sid);
  return { session, sid };
}
