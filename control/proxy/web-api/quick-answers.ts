import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { ChannelReading } from "../versions/channels.ts";
import type { VersionServer } from "../versions/open-version-server.ts";
import { staleHeader, upgradePrefixes, whyHeader, whyText } from "./upgrade-paths.ts";

export interface QuickAnswer {
  /** Names and values in turn; the length of the body is among them. */
  readonly headers: readonly string[];
  readonly body: string;
  /** The whole of it, as HTTP/1.1 that keeps the connection. */
  readonly keeping: string;
  /** The same for the last request of a connection. */
  readonly closing: string;
}

/** By a request's path as it was sent. Undefined: an unknown path, a host, an error; the routes answer. */
export type QuickAnswers = (path: string) => QuickAnswer | undefined;

interface MadeAnswer {
  readonly channel: string;
  readonly what: "version" | "critical";
  /** Undefined until it is made, and while there is none that could be. */
  made: QuickAnswer | undefined;
  until: number;
}

export interface QuickAnswersOptions extends Pick<VersionServer, "channels" | "clock"> {
  readonly now: () => Date;
  /** What an answer tells the client of how long its connection is kept. */
  readonly keepAlive: string;
}

/** An answer tells the time, and a stale one its age, in seconds, ms. */
const madeForMs = 1000;

/** Every updater of every host asks the same few questions: their answers are made beforehand, once a second. */
export function quickAnswers({ channels, clock, now, keepAlive }: QuickAnswersOptions): QuickAnswers {
  const answers = new Map<string, MadeAnswer>();
  for (const channel of channels.names) {
    for (const what of ["version", "critical"] as const) {
      for (const prefix of upgradePrefixes) answers.set(`${prefix}${channel}/${what}`, { channel, what, made: undefined, until: 0 });
    }
  }
  channels.onChange(() => {
    for (const answer of answers.values()) answer.made = undefined;
  });
  const make = ({ channel, what }: MadeAnswer): QuickAnswer | undefined => {
    const reading = channels.settling(channel) === undefined ? readOrNone(() => channels.read(channel)) : undefined;
    const body = what === "version" ? reading?.version : criticalText(reading);
    if (reading === undefined || body === undefined) return undefined;
    const headers = headersOf(body, channel, reading);
    const date = now().toUTCString();
    const keeping = written({ headers, body, date, connection: ["keep-alive", "Keep-Alive", keepAlive] });
    return { headers, body, keeping, closing: written({ headers, body, date, connection: ["close"] }) };
  };
  return (path) => {
    const answer = answers.get(path);
    if (answer === undefined) return undefined;
    const time = clock();
    if (answer.made === undefined || time >= answer.until) {
      answer.made = make(answer);
      answer.until = time + madeForMs;
    }
    return answer.made;
  };
}

function headersOf(body: string, channel: string, { staleSeconds, why }: ChannelReading): string[] {
  const always = ["Content-Type", "text/plain; charset=utf-8", "Content-Length", String(body.length), "Cache-Control", "no-store"];
  const safe = ["X-Content-Type-Options", "nosniff", "Strict-Transport-Security", "max-age=31536000"];
  const stale = staleSeconds === undefined ? [] : [staleHeader, String(staleSeconds)];
  return [...always, ...safe, ...stale, ...(why === undefined ? [] : [whyHeader, whyText(channel, why)])];
}

interface Written extends Pick<QuickAnswer, "headers" | "body"> {
  readonly date: string;
  /** The value of the header, and more headers. */
  readonly connection: readonly string[];
}

/** Byte for byte what Node's server makes of it. */
function written({ headers, body, date, connection }: Written): string {
  const fields = [...headers, "Date", date, "Connection", ...connection];
  const lines = fields.map((text, index) => (index % 2 === 0 ? `${text}: ` : `${text}\r\n`));
  return `HTTP/1.1 200 OK\r\n${lines.join("")}\r\n${body}`;
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
