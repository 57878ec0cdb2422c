import { PlatformError } from "../../core/errors/platform-error.ts";
import type { Env } from "../../core/transport/dial/choose-proxy.ts";
import { httpsGet } from "../../core/transport/dial/https-get.ts";
import { formatHostPort, type HostPort } from "../../core/transport/host-port.ts";
import { parseVersion } from "../../core/versions/compare-versions.ts";
import { version } from "../../core/versions/version.ts";
import type { Examination, Said } from "./examination.ts";

interface Ping extends ServerVersions {
  readonly cluster: string;
}

/** The proxy's answer about itself: cluster, version, time. False: the answer is not a proxy's, or a check failed. */
export async function examineAnswer(exam: Examination, { target, env }: { target: HostPort; env: Env }): Promise<boolean> {
  const answered = await exam.check("answer", async () => {
    const times = { asked: Date.now(), answered: 0 };
    // Unverified: the answer is only shown, and the certificate has its own check.
    const { status, headers, body } = await httpsGet(target, "/webapi/ping", { env, insecure: true, maxBytes: 65_536 });
    times.answered = Date.now();
    const ping = status === 200 ? readPing(body.toString("utf8")) : undefined;
    if (ping === undefined) {
      throw new PlatformError("unavailable", `${formatHostPort(target)} answered /webapi/ping with status ${status}, which is not a proxy's answer`, {
        hint: "check that this is the web address of the proxy; a captive portal of the network gives such an answer too",
      });
    }
    return { says: `the proxy of the cluster ${JSON.stringify(ping.cluster)} answers`, value: { ping, times, date: headers.date } };
  });
  if (answered === undefined) return false;
  const { ping, times, date } = answered;
  const fits = await exam.passes("version", () => judgeVersion(version, ping));
  const inTime = await exam.passes("clock", () => judgeClock(date, times));
  return fits && inTime;
}

/** Undefined for anything but a proxy's answer. */
export function readPing(text: string): Ping | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof value !== "object" || value === null) return undefined;
  const field = (name: string): string | undefined => {
    const found: unknown = Reflect.get(value, name);
    return typeof found === "string" && found.length <= 300 ? found : undefined;
  };
  const [server, minClient, cluster] = [field("server_version"), field("min_client_version"), field("cluster_name")];
  return server === undefined || minClient === undefined || cluster === undefined ? undefined : { server, minClient, cluster };
}

/** The proxy's answer about itself. */
interface ServerVersions {
  readonly server: string;
  /** The oldest client version that it accepts. */
  readonly minClient: string;
}

/** Compares this program's version with the proxy's. Throws `unsupported` when it is too old. Pure. */
export function judgeVersion(own: string, { server, minClient }: ServerVersions): Said {
  const says = `this is ${own}, the proxy is ${server}`;
  const [ownMajor, serverMajor, minMajor] = [own, server, minClient].map((text) => parseVersion(text)?.major);
  if (ownMajor === undefined || serverMajor === undefined || minMajor === undefined) {
    return { says, warning: "one of them is not a version: the answer may not be a proxy's" };
  }
  if (ownMajor < minMajor) {
    throw new PlatformError("unsupported", `${says}: the oldest client that the proxy accepts is ${minClient}`, { hint: "upgrade this program" });
  }
  const newer = ownMajor > serverMajor;
  return { says, ...(newer && { warning: "a newer major version than the proxy's may not work: install the proxy's version" }) };
}

/** One-time codes count for half a minute to either side, and new certificates are valid from a minute before. Seconds. */
const [tolerated, unusable] = [20, 60];
const set = "set it with `timedatectl set-ntp true`, or ask the administrator of this machine";

/**
 * Compares this machine's clock with the `Date` of an answer requested at `asked` and received at `answered` (ms): the header has whole
 * seconds, and the answer took some time. Throws `invalid` when logins and certificates cannot work. Pure.
 */
export function judgeClock(date: string | undefined, { asked, answered }: { asked: number; answered: number }): Said {
  const there = Date.parse(date ?? "");
  if (Number.isNaN(there)) return { says: "the proxy does not report its time" };
  // The header's second began at `there`.
  const behind = there - answered;
  const ahead = asked - (there + 1000);
  const seconds = Math.round(Math.max(0, behind, ahead) / 1000);
  if (seconds === 0) return { says: "this machine's clock agrees with the proxy's" };
  const says = `this machine's clock is ${lasting(seconds)} ${behind > 0 ? "behind" : "ahead of"} the proxy's`;
  if (seconds >= unusable) throw new PlatformError("invalid", `${says}: logins and certificates are refused`, { hint: set });
  return { says, ...(seconds >= tolerated && { warning: set }) };
}

function lasting(seconds: number): string {
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7200) return `${Math.round(seconds / 60)} min`;
  return seconds < 172_800 ? `${Math.round(seconds / 3600)} h` : `${Math.round(seconds / 86_400)} days`;
}
