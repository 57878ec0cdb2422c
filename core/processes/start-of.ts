import { readFile } from "node:fs/promises";

/** Start time of a process, in ticks since boot; `undefined` if it does not exist. */
export async function startOf(pid: number): Promise<string | undefined> {
  const text = await readFile(`/proc/${pid}/stat`, "latin1").catch(() => "");
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  // A zombie: it has ended and cannot write any more.
  return fields[0] === "Z" ? undefined : fields[19];
}
