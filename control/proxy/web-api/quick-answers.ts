import type { IncomingMessage, ServerResponse } from "node:http";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { ChannelReading } from "../versions/channels.ts";
import type { VersionServer } from "../versions/open-version-server.ts";
import { staleHeader, upgradePrefixes } from "./upgrade-paths.ts";

interface MadeAnswer {
  readonly channel: string;
  readonly what: "version" | "critical";
  /** Undefined until it is made, and while there is none that could be. */
  made: { readonly headers: string[]; readonly body: string; readonly until: number } | undefined;
}

/** A stale answer tells its age in seconds, ms. */
const staleForMs = 1000;

/**
 * Every updater of every host asks the same few questions: their answers are made beforehand and sent before the router is
 * asked. True: answered. What this does not answer (an unknown path, a host, an error) the routes do.
 */
export function quickAnswers({
  channels,
  limit,
  clock,
}: Pick<VersionServer, "channels" | "limit" | "clock">): (request: IncomingMessage, response: ServerResponse) => boolean {
  const answers = new Map<string, MadeAnswer>();
  for (const channel of channels.names) {
    for (const what of ["version", "critical"] as const) {
      for (const prefix of upgradePrefixes) answers.set(`${prefix}${channel}/${what}`, { channel, what, made: undefined });
    }
  }
  channels.onChange(() => {
    for (const answer of answers.values()) answer.made = undefined;
  });
  const make = (answer: MadeAnswer): MadeAnswer["made"] => {
    const reading = channels.settling(answer.channel) === undefined ? readOrNone(() => channels.read(answer.channel)) : undefined;
    const text = answer.what === "version" ? reading?.version : criticalText(reading);
    if (reading === undefined || text === undefined) return undefined;
    const { staleSeconds } = reading;
    const until = staleSeconds === undefined ? Number.POSITIVE_INFINITY : clock() + staleForMs;
    answer.made = { headers: headersOf(text, staleSeconds), body: text, until };
    return answer.made;
  };
  return (request, response) => {
    const answer = answers.get(request.url ?? "");
    if (answer === undefined || (request.method !== "GET" && request.method !== "HEAD")) return false;
    const known = answer.made;
    const made = known !== undefined && (known.until === Number.POSITIVE_INFINITY || clock() < known.until) ? known : make(answer);
    if (made === undefined || !limit.take(request.socket)) return false;
    response.writeHead(200, made.headers);
    if (request.method === "HEAD") response.end();
    // As text, header and body go out in one write.
    else response.end(made.body, "latin1");
    return true;
  };
}

function headersOf(text: string, staleSeconds: number | undefined): string[] {
  const always = ["Content-Type", "text/plain; charset=utf-8", "Content-Length", String(text.length), "Cache-Control", "no-store"];
  const safe = ["X-Content-Type-Options", "nosniff", "Strict-Transport-Security", "max-age=31536000"];
  return [...always, ...safe, ...(staleSeconds === undefined ? [] : [staleHeader, String(staleSeconds)])];
}

function criticalText(reading: ChannelReading | undefined): string | undefined {
  if (reading?.critical === undefined) return undefined;
  return reading.critical ? "yes" : "no";
}

function readOrNone(read: () => ChannelReading): ChannelReading | undefined {
  try {
    return read();
  } catch (thrown) {
    if (thrown instanceof PlatformError) return undefined;
    throw thrown;
  }
}
