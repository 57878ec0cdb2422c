import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Cluster } from "./cluster.ts";

export interface JumpHosts {
  readonly user: string;
  /** Address that the SSH ports of all proxies are on. */
  readonly address: string;
  /** SSH port of each proxy by its name. */
  readonly ports: Readonly<Record<string, number>>;
}

/** Path of a new configuration for stock ssh: each proxy is a jump host of its name, and the user has a certificate for 8 hours. */
export async function writeJumpConfig(cluster: Cluster, { user, address, ports }: JumpHosts): Promise<string> {
  const [file, key, known] = ["jump", "stock", "known"].map((name) => join(cluster.dir, name)) as [string, string, string];
  await cluster.admin("auth", "sign", `--user=${user}`, "--ttl=8h", "--format=openssh", `--out=${key}`);
  await writeFile(known, await cluster.admin("auth", "export", "--type=host"));
  const hosts = Object.entries(ports).map(([name, port]) => `Host ${name}\nHostName ${address}\nHostKeyAlias ${name}.test.cluster\nPort ${port}\n`);
  const checks = `BatchMode yes\nStrictHostKeyChecking yes\nUserKnownHostsFile ${known}\n`;
  const identity = `IdentitiesOnly yes\nIdentityFile ${key}\nCertificateFile ${key}-cert.pub\n`;
  await writeFile(file, `${hosts.join("")}Host *\n${checks}${identity}`);
  return file;
}
