import { PlatformError } from "../../core/errors/platform-error.ts";
import { answeredJson, type KubernetesRequests } from "../../core/kubernetes/kubernetes-api.ts";
import { encodeSchedule, parseSchedule, type UpgradeWindow } from "../../core/versions/upgrade-schedule.ts";
import type { SchedulePlace } from "./schedule-keeper.ts";

/** The Secret that the agents of a release share with their updater (updater/kube/cluster/shared-state.ts). */
export interface SecretPlace {
  readonly requests: KubernetesRequests;
  readonly namespace: string;
  readonly secret: string;
  /** Name of this agent's pod. */
  readonly pod: string;
}

const scheduleKey = "agent-maintenance-schedule";
const authoritiesKey = "agent-authorities";
const requestMs = 10_000;

/** The Secret as the schedule's place. Every agent of the release writes the same; each write is of its own keys alone. */
export function sharedSchedule(place: SecretPlace): SchedulePlace {
  return {
    name: `Secret ${place.namespace}/${place.secret}`,
    read: async () => {
      const text = (await readData(place))[scheduleKey];
      return text === undefined ? undefined : fromJson(text);
    },
    write: async (text) => await writeData(place, { [scheduleKey]: toJson(text) }),
  };
}

/** Gives the updater the cluster's signing keys and this agent's id, where they differ. Resolves to whether anything was written. Throws PlatformError. */
export async function shareIdentity(
  place: SecretPlace,
  { keys, hostId }: { readonly keys: readonly string[]; readonly hostId: string },
): Promise<boolean> {
  const wanted = { [authoritiesKey]: keys.map((key) => `${key}\n`).join(""), [`agent-host.${place.pod}`]: hostId };
  const held = await readData(place);
  if (Object.entries(wanted).every(([key, value]) => held[key] === value)) return false;
  await writeData(place, wanted);
  return true;
}

/** An empty schedule is an empty text, as in the file. */
function toJson(text: string): string {
  const windows = parseSchedule(text).map(({ start, stop }) => ({ start: timeOf(start), stop: timeOf(stop) }));
  return windows.length === 0 ? "" : JSON.stringify({ windows });
}

function timeOf(seconds: number): string {
  return new Date(seconds * 1000).toISOString().replace(".000Z", "Z");
}

/** Anything but what `toJson` makes gives another text, and is overwritten. */
function fromJson(text: string): string {
  if (text === "") return "";
  const value = parsed(text);
  const list: unknown = typeof value === "object" && value !== null && "windows" in value ? value.windows : undefined;
  if (!Array.isArray(list)) return "\0not a schedule";
  const windows = list.flatMap((one: unknown) => windowOf(one) ?? []);
  const back = encodeSchedule(windows);
  return toJson(back) === text ? back : "\0not a schedule";
}

function windowOf(value: unknown): UpgradeWindow | undefined {
  if (typeof value !== "object" || value === null || !("start" in value) || !("stop" in value)) return undefined;
  const [start, stop] = [Date.parse(String(value.start)) / 1000, Date.parse(String(value.stop)) / 1000];
  return Number.isInteger(start) && Number.isInteger(stop) && start > 0 && start < stop ? { start, stop } : undefined;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

async function readData({ requests, namespace, secret }: SecretPlace): Promise<Readonly<Record<string, string>>> {
  const path = `/api/v1/namespaces/${namespace}/secrets/${secret}`;
  const value = answeredJson(await requests.request({ method: "GET", path, timeoutMs: requestMs }), `could not read Secret ${secret}`);
  const data: unknown = typeof value === "object" && value !== null && "data" in value ? value.data : undefined;
  if (typeof data !== "object" || data === null) return {};
  return Object.fromEntries(
    Object.entries(data).flatMap(([key, text]) => (typeof text === "string" ? [[key, Buffer.from(text, "base64").toString("utf8")]] : [])),
  );
}

async function writeData({ requests, namespace, secret }: SecretPlace, texts: Readonly<Record<string, string>>): Promise<void> {
  const data = Object.fromEntries(Object.entries(texts).map(([key, text]) => [key, Buffer.from(text).toString("base64")]));
  const path = `/api/v1/namespaces/${namespace}/secrets/${secret}`;
  const request = { method: "PATCH", path, body: { data }, contentType: "application/merge-patch+json", timeoutMs: requestMs } as const;
  answeredJson(await requests.request(request), `could not write Secret ${secret}`);
}

/** `statefulset/<name>` or `deployment/<name>`, as the chart sets it. Throws `invalid`. */
export function workloadPath(text: string, namespace: string): string {
  const [, kind, name] = /^(statefulset|deployment)\/([a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?)$/.exec(text) ?? [];
  if (kind === undefined)
    throw new PlatformError("invalid", `PLATFORM_WORKLOAD is ${JSON.stringify(text.slice(0, 80))}, not statefulset/<name> or deployment/<name>`);
  return `/apis/apps/v1/namespaces/${namespace}/${kind}s/${name}`;
}

/** The updater's last result, which it writes to the annotation of the workload; undefined if it has not written one. Throws PlatformError. */
export async function readUpdateStatus(requests: KubernetesRequests, path: string): Promise<string | undefined> {
  const value = answeredJson(
    await requests.request({ method: "GET", path, timeoutMs: requestMs, maxBytes: 4 * 1024 * 1024 }),
    "could not read the workload",
  );
  const metadata: unknown = typeof value === "object" && value !== null && "metadata" in value ? value.metadata : undefined;
  const annotations: unknown = typeof metadata === "object" && metadata !== null && "annotations" in metadata ? metadata.annotations : undefined;
  const text =
    typeof annotations === "object" && annotations !== null
      ? Object.entries(annotations).find(([name]) => name === "platform.dev/update-status")?.[1]
      : undefined;
  return typeof text === "string" ? text : undefined;
}
