import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import type { AuthorityKind } from "../../core/kinds/authority-kinds.ts";
import { parseCertificateLine } from "../../core/ssh/certificate.ts";
import { lineBlob } from "../../core/ssh/keys.ts";
import type { Cluster } from "./cluster.ts";
import type { Agent } from "./cluster-agent.ts";
import { until } from "./until.ts";

const rotations = z.array(
  z.object({
    authority: z.string(),
    phase: z.string(),
    mode: z.string(),
    keys: z.array(z.object({ ca_pin: z.string(), ssh_fingerprint: z.string().optional() })),
    behind: z.array(z.object({ role: z.string(), id: z.string(), name: z.string() })).optional(),
  }),
);
export type ShownRotation = z.infer<typeof rotations>[number];

/** What `tctl auth rotate status` says of one authority. */
export async function rotationOf(cluster: Cluster, authority: AuthorityKind): Promise<ShownRotation> {
  const shown = rotations.parse(JSON.parse(await cluster.admin("auth", "rotate", "status", "--format=json")));
  const found = shown.find((one) => one.authority === authority);
  if (found === undefined) throw new Error(`no rotation of ${authority}`);
  return found;
}

/** One step by hand, by tctl. */
export async function step(cluster: Cluster, authority: AuthorityKind, phase: string): Promise<void> {
  await cluster.admin("auth", "rotate", `--type=${authority}`, "--manual", `--phase=${phase}`);
}

const credentialsSchema = z.object({ sshCertificate: z.string(), hostCaSsh: z.array(z.string()), userCaSsh: z.array(z.string()) });

/** The authorities stored by an agent (or a separate proxy), and which of them signed its certificate. */
export async function storedTrust(folder: string, service: "agent" | "proxy" = "agent") {
  const stored = credentialsSchema.parse(JSON.parse(await readFile(join(folder, service, "credentials.json"), "utf8")));
  const { authority } = parseCertificateLine(stored.sshCertificate);
  const signedBy = stored.hostCaSsh.findIndex((line) => lineBlob(line).equals(authority));
  return { host: stored.hostCaSsh.map((line) => line.trim()), user: stored.userCaSsh.map((line) => line.trim()), signedBy };
}

/** Waits until an agent has stored the authorities as they are now, and has a certificate of the key that signs. */
export async function caughtUp(cluster: Cluster, agent: Agent): Promise<void> {
  const keys = async (type: string): Promise<readonly string[]> => {
    const lines = (await cluster.admin("auth", "export", `--type=${type}`)).trim().split("\n");
    return lines.map((line) => /ssh-ed25519 \S+/.exec(line)?.[0] ?? "");
  };
  const [host, user] = [await keys("host"), await keys("user")];
  await until(
    `agent ${agent.name} has what the authorities are now`,
    async () => {
      const stored = await storedTrust(join(agent.dir, "data"));
      return stored.signedBy === 0 && stored.host.join() === host.join() && stored.user.join() === user.join();
    },
    60_000,
  );
}
