import type { UpgradeWindow } from "../../../core/versions/upgrade-schedule.ts";
import type { Schedule } from "../../tick/schedule.ts";
import { jsonOf, listOf, objectOf, textOf } from "./json-value.ts";

/** What the agents of a release have written into their shared Secret (agent/upgrade-window/shared-secret.ts). */
export interface SharedState {
  readonly schedule: Schedule;
  /** Public keys by which the cluster signs wanted versions, as lines. */
  readonly authorities: readonly string[];
  /** Ids of the hosts, by the names of their pods. */
  readonly hosts: Readonly<Record<string, string>>;
}

const hostPrefix = "agent-host.";
const maxWindows = 1000;
const maxAuthorities = 8;
const maxText = 262_144;

/** `data` of the Secret, base64 by key. Whatever is not well-formed counts as not written. Pure; never throws. */
export function parseSharedState(data: Readonly<Record<string, string>>): SharedState {
  const read = (key: string): string => decoded(data[key] ?? "");
  const hosts = Object.keys(data).flatMap((key) => {
    const id = key.startsWith(hostPrefix) ? read(key).trim() : "";
    return /^[\w-]{1,80}$/.test(id) ? [[key.slice(hostPrefix.length), id] as const] : [];
  });
  const authorities = read("agent-authorities")
    .split("\n")
    .filter((line) => line.startsWith("ssh-ed25519 "))
    .slice(0, maxAuthorities);
  return { schedule: parseWindows(read("agent-maintenance-schedule")), authorities, hosts: Object.fromEntries(hosts) };
}

function decoded(text: string): string {
  return text.length > maxText ? "" : Buffer.from(text, "base64").toString("utf8");
}

/** `{"windows":[{"start":RFC 3339,"stop":RFC 3339}]}`; an empty text has none. */
function parseWindows(text: string): Schedule {
  if (text.trim() === "") return { windows: [], unreadable: 0 };
  const { windows: list } = objectOf(jsonOf(text));
  if (!Array.isArray(list)) return { windows: [], unreadable: 1 };
  const windows = listOf(list)
    .slice(0, maxWindows)
    .flatMap((one) => parseWindow(objectOf(one)) ?? []);
  return { windows, unreadable: list.length - windows.length };
}

function parseWindow(object: Readonly<Record<string, unknown>>): UpgradeWindow | undefined {
  const [start, stop] = [secondsOf(textOf(object.start)), secondsOf(textOf(object.stop))];
  return start !== undefined && stop !== undefined && start < stop ? { start, stop } : undefined;
}

function secondsOf(text: string): number | undefined {
  if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)$/.test(text)) return undefined;
  const ms = Date.parse(text);
  return Number.isNaN(ms) ? undefined : Math.floor(ms / 1000);
}
