import { PlatformError } from "../../core/errors/platform-error.ts";
import { parseLabels } from "../host-filter.ts";
import { bytesOf } from "../raw-arguments.ts";

export interface SshTarget {
  /** Undefined: the caller chooses. */
  readonly login: string | undefined;
  /** Name or id of a host. */
  readonly host: string;
  readonly port: number | undefined;
}

export interface LabelTarget {
  readonly login: string | undefined;
  readonly labels: Readonly<Record<string, string>>;
}

/** `[login@]key=value[,key=value…]`; undefined when the text names a host. Throws `invalid`. */
export function parseLabelTarget(text: string, login?: string): LabelTarget | undefined {
  const equals = text.indexOf("=");
  if (equals < 0) return undefined;
  // A label's value may contain an @, its key may not.
  const at = text.lastIndexOf("@", equals);
  const chosen = login ?? (at < 0 ? undefined : text.slice(0, at));
  if (chosen !== undefined && !loginShape.test(chosen)) {
    throw new PlatformError("invalid", `${JSON.stringify(text)} contains ${JSON.stringify(chosen)}, which is not a valid login`);
  }
  return { login: chosen, labels: parseLabels(text.slice(at + 1)) };
}

const loginShape = /^[A-Za-z0-9_][A-Za-z0-9._@\\+-]{0,63}\$?$/;

/** `[login@]host[:port]`; the last `@` separates, so a login may contain one. Throws `invalid`. */
export function parseSshTarget(text: string, login?: string): SshTarget {
  const at = text.lastIndexOf("@");
  const own = at > 0 ? text.slice(0, at) : undefined;
  const parts = /^([A-Za-z0-9](?:[A-Za-z0-9._-]{0,252}))(?::(\d{1,5}))?$/.exec(text.slice(at + 1));
  const refuse = (why: string): never => {
    throw new PlatformError("invalid", `${JSON.stringify(text)} ${why}`, { hint: "write it as [user@]host; tsh ls lists the hosts" });
  };
  if (parts === null || at === 0) return refuse("is not of the form [user@]host");
  const chosen = login ?? own;
  if (chosen !== undefined && !loginShape.test(chosen)) return refuse(`contains ${JSON.stringify(chosen)}, which is not a valid login`);
  const port = parts[2] === undefined ? undefined : Number(parts[2]);
  if (port !== undefined && port > 65_535) refuse("has a port above 65535");
  return { login: chosen, host: parts[1] as string, port };
}

/** Maximum length that fits into one packet, bytes; a longer one would end the connection. */
const longestCommand = 32_000;

/** The command line, as ssh builds it: joined by single spaces for the remote shell. Throws `invalid`. */
export function joinCommand(words: readonly string[]): string | undefined {
  const command = words.join(" ");
  const { length } = bytesOf(command);
  if (length > longestCommand) {
    throw new PlatformError("invalid", `the command has ${length} bytes; the maximum is ${longestCommand}`, {
      hint: "send it as a script on standard input: tsh ssh host sh < script",
    });
  }
  return words.length === 0 ? undefined : command;
}
