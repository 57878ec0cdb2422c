import { open } from "node:fs/promises";
import { type HostStatus, hostStatusSchema } from "../../core/resources/host-status.ts";

/** The updater's report of its last run; fields that are missing or wrong in its state file are left out. */
export type UpdaterState = Pick<HostStatus, "upgrader_version" | "reason" | "detail" | "target" | "channel" | "at">;

/** Longest state file read, bytes. */
const maxBytes = 262_144;
const fields = hostStatusSchema.shape;

/** The state file of the updater, JSON; undefined when it cannot be read. Never throws. */
export function parseUpdaterState(text: string): UpdaterState | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
  const found = { ...value } as Readonly<Record<string, unknown>>;
  const detail = typeof found.detail === "string" ? found.detail.slice(0, 500) : undefined;
  const [upgrader_version, target] = [fields.upgrader_version.safeParse(found.updater_version).data, fields.target.safeParse(found.target).data];
  const [reason, channel, at] = [
    fields.reason.safeParse(found.reason).data,
    fields.channel.safeParse(found.channel).data,
    fields.at.safeParse(found.at).data,
  ];
  return {
    ...(upgrader_version !== undefined && { upgrader_version }),
    ...(reason !== undefined && { reason }),
    ...(detail !== undefined && { detail }),
    ...(target !== undefined && { target }),
    ...(channel !== undefined && { channel }),
    ...(at !== undefined && { at }),
  };
}

/** Reads at most the bound; undefined when there is no state, or none that can be read. */
export async function readUpdaterState(file: string): Promise<UpdaterState | undefined> {
  try {
    await using handle = await open(file, "r");
    const { size } = await handle.stat();
    if (size > maxBytes) return undefined;
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(size), 0, size, 0);
    return parseUpdaterState(buffer.toString("utf8", 0, bytesRead));
  } catch {
    return undefined;
  }
}
