import { readFile } from "node:fs/promises";

/** When a process began, in ticks since the boot; `undefined` when there is none. */
export async function startOf(pid: number): Promise<string | undefined> {
  const text = await readFile(`/proc/${pid}/stat`, "latin1").catch(() => "");
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  // Ended, but not waited for yet: it writes nothing any more.
  return fields[0] === "Z" ? undefined : fields[19];
}
