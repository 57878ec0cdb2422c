import type { User } from "./cluster-user.ts";

/** What `tsh play` prints of a database's recording (its id, or a file): the lines without their times. */
export async function played(user: Pick<User, "tsh">, recording: string): Promise<string[]> {
  const { status, stdout, stderr } = await user.tsh(["play", recording]);
  if (status !== 0 || stderr !== "") throw new Error(`tsh play ended with status ${status}: ${stderr}`);
  const lines = stdout.trimEnd().split("\n");
  return lines.slice(1).map((line) => line.replace(/^\S* +/, "").replace(/ \(\d[\d.]* m?s\)$/, ""));
}
