import type { HostStatus } from "../../../core/resources/host-status.ts";
import type { AuthContext } from "../auth-context.ts";
import { upgradeEvent, upgradeMemorySchema } from "./upgrade-event.ts";

/** Durable memory of one host's audited upgrades: JSON of `UpgradeMemory`. */
export function upgradeMemoryKey(id: string): string {
  return `/upgrade-audited/${id}`;
}

type Context = Pick<AuthContext, "storage" | "audit" | "queues">;

/**
 * Audits the upgrades in a host's report. The event is durable before it is remembered: after a crash in between it is recorded
 * twice rather than never. Reports of one host are processed in order.
 */
export async function auditUpgrades(context: Context, host: { id: string; hostname: string; version: string; status: HostStatus }): Promise<void> {
  const { id, hostname, version, status } = host;
  const key = upgradeMemoryKey(id);
  await context.queues(key, async () => {
    const stored = await context.storage.get(key);
    const before = stored === undefined ? undefined : upgradeMemorySchema.safeParse(JSON.parse(stored.value)).data;
    const { event, memory } = upgradeEvent(before, { version, status });
    if (event !== undefined) context.audit.emit({ ...event, server_id: id, server_name: hostname });
    const value = JSON.stringify(memory);
    if (value !== stored?.value) await context.storage.put({ key, value });
  });
}
