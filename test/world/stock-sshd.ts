import { mkdir, readFile, writeFile } from "node:fs/promises";
import { userInfo } from "node:os";
import { join } from "node:path";
import { sshd } from "./openssh-keys.ts";
import { withPlainHome } from "./plain-home.ts";
import { output } from "./program.ts";

/** Arguments with which the stock ssh reaches a stock sshd: one process for each connection, on ssh's own pipes. `folder` holds its files. */
export async function stockSshd(folder: string): Promise<readonly string[]> {
  const path = (name: string): string => join(folder, name);
  for (const name of ["sshd_host", "sshd_user"]) await output("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-f", path(name)]);
  await writeFile(path("sshd_authorized"), await readFile(path("sshd_user.pub")));
  const settings = [
    `HostKey ${path("sshd_host")}`,
    `AuthorizedKeysFile ${path("sshd_authorized")}`,
    "PidFile none",
    "StrictModes no",
    "UsePAM no",
    "PermitRootLogin yes",
    "PasswordAuthentication no",
    "AcceptEnv LANG LC_* TZ",
    "PrintLastLog no",
    "PrintMotd no",
  ];
  await writeFile(path("sshd_config"), `${settings.join("\n")}\n`);
  // Its privilege separation folder, needed when root runs it.
  if (userInfo().uid === 0) await mkdir("/run/sshd", { recursive: true });
  const options = [
    `ProxyCommand=${withPlainHome(sshd, ["-i", "-f", path("sshd_config")])
      .flat()
      .join(" ")}`,
    "StrictHostKeyChecking=no",
    "UserKnownHostsFile=/dev/null",
    "GlobalKnownHostsFile=/dev/null",
    "IdentitiesOnly=yes",
    `IdentityFile=${path("sshd_user")}`,
  ];
  return ["-F", "none", ...options.flatMap((option) => ["-o", option])];
}
