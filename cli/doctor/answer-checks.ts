import { PlatformError } from "../../core/errors/platform-error.ts";
import type { Env } from "../../core/transport/dial/choose-proxy.ts";
import { httpsGet } from "../../core/transport/dial/https-get.ts";
import { formatHostPort, type HostPort } from "../../core/transport/host-port.ts";
import { version } from "../../core/versions/version.ts";
import type { Examination } from "./examination.ts";
import { judgeClock } from "./judge-clock.ts";
import { judgeVersion, type ServerVersions } from "./judge-version.ts";

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
