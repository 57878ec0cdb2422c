import { mkdir, writeFile } from "node:fs/promises";
import { userInfo } from "node:os";
import { join } from "node:path";
import { output } from "../test/world/program.ts";
import { type Service, startService } from "../test/world/service.ts";
import { until } from "../test/world/until.ts";

/** A stock sshd for the running user, with keys of its own: the peer that we measure against. */
export interface Sshd extends AsyncDisposable {
  readonly port: number;
  readonly pid: number;
  /** Options for ssh to reach it. */
  readonly options: readonly string[];
}

export const sshLogin: string = userInfo().username;

/** `more`: further lines of its configuration. */
export async function startSshd(dir: string, port: number, more = ""): Promise<Sshd> {
  // sshd reads a user's keys as that user.
  await mkdir(dir, { recursive: true, mode: 0o711 });
  const [hostKey, userKey] = [join(dir, "host"), join(dir, "user")];
  await output("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-f", hostKey]);
  await output("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-f", userKey]);
  const config = join(dir, "sshd_config");
  await writeFile(
    config,
    `Port ${port}
ListenAddress 127.0.0.1
HostKey ${hostKey}
AuthorizedKeysFile ${userKey}.pub
PidFile none
UsePAM no
StrictModes no
PermitRootLogin yes
PasswordAuthentication no
GatewayPorts no
UseDNS no
PrintMotd no
${more}
`,
  );
  if (userInfo().uid === 0) await mkdir("/run/sshd", { recursive: true });
  const service: Service = startService("/usr/sbin/sshd", ["-D", "-e", "-f", config]);
  await until("sshd listens", async () => (await output("ssh-keyscan", ["-p", String(port), "127.0.0.1"])).includes("ssh-"));
  return {
    port,
    pid: service.pid,
    options: [
      "-F",
      "none",
      "-i",
      userKey,
      "-o",
      "IdentitiesOnly=yes",
      "-o",
      "StrictHostKeyChecking=no",
      "-o",
      "UserKnownHostsFile=/dev/null",
      "-o",
      "LogLevel=ERROR",
      "-o",
      "BatchMode=yes",
    ],
    [Symbol.asyncDispose]: () => service.stop(),
  };
}

/** Stock ssh's configuration of `host` behind `jump`, whose keys are in the folders of those names. */
export function behindJump({ dir, login, jump, host }: { dir: string; login: string; jump: number; host: number }): string {
  const of = (name: "jump" | "host", port: number): string => `Host ${name}
  Port ${port}
  HostName 127.0.0.1
  User ${login}
  IdentityFile ${join(dir, name, "user")}
  IdentitiesOnly yes
  StrictHostKeyChecking no
  UserKnownHostsFile /dev/null
  LogLevel ERROR
`;
  return `${of("jump", jump)}${of("host", host)}  ProxyJump jump
`;
}
