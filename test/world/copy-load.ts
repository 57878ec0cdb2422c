import { randomBytes } from "node:crypto";
import { join } from "node:path";
import type { User } from "./cluster-user.ts";
import { output, run } from "./program.ts";
import type { LoadOptions } from "./session-load.ts";

/** A stock `scp` to the host that takes its time, beside a load of the same folder: whether every byte arrived. */
export async function copyUp(user: User, { target, folder, bytes, bytesPerSecond }: Omit<LoadOptions, "everyMs">): Promise<boolean> {
  const [login, host] = target.split("@") as [string, string];
  const name = randomBytes(6).toString("hex");
  const file = join(folder, name);
  await output("sh", ["-ec", 'head -c "$0" /dev/urandom >"$1"', String(bytes), file]);
  const sum = (await output("sha256sum", [file])).slice(0, 64);
  const limit = String(Math.round((bytesPerSecond * 8) / 1000));
  const config = join(folder, "ssh-config");
  const copied = await run("scp", ["-F", config, "-l", limit, file, `${login}@${host}.test.cluster:/var/tmp/${name}`], { limitMs: 600_000 });
  if (copied.status !== 0) throw new Error(`scp: exit ${copied.status}\n${copied.stderr}`);
  return (await user.tsh(["ssh", target, `sha256sum /var/tmp/${name}`])).stdout.slice(0, 64) === sum;
}
