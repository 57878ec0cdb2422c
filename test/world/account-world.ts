import type { Agent } from "./cluster-agent.ts";
import type { User } from "./cluster-user.ts";
import type { DatabaseWorld } from "./database-world.ts";
import { putRole } from "./put-role.ts";
import { until } from "./until.ts";

/** The agents' account at the servers, which makes others. */
export const accountAdmin = "platform-admin";
const labels = { env: "test" };

/** An agent that makes accounts at these databases. */
export async function offerAccounts(
  world: DatabaseWorld,
  name: string,
  databases: readonly { name: string; protocol: string; port: number }[],
): Promise<Agent> {
  const entry = ({ name: database, protocol, port }: (typeof databases)[number]): string =>
    `    - { name: ${database}, protocol: ${protocol}, uri: "127.0.0.1:${port}", static_labels: { env: test }, admin_user: { name: ${accountAdmin} } }\n`;
  const services = `db_service:\n  enabled: yes\n  databases:\n${databases.map(entry).join("")}`;
  return await world.cluster.agent({ name, token: await world.cluster.token("--type=db"), services, noWait: true });
}

/** A user with this role of their own, who sees the databases. */
export async function userWith(world: DatabaseWorld, name: string, role: object): Promise<User> {
  await putRole(world.cluster, `of-${name}`, role);
  const user = await world.cluster.user(name, { roles: `of-${name}` });
  await until("the agent offers its databases", async () => (await user.tsh(["db", "ls", "--format=names"])).stdout !== "");
  return user;
}

/** A role that lets agents make its user's account, with these roles at the server. */
export const makesAccounts = (roles: readonly string[], mode = "keep") => ({
  options: { create_db_user_mode: mode },
  allow: { db_labels: labels, db_names: ["orders", "postgres"], db_roles: roles },
});
