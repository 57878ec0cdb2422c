import { PlatformError } from "../../core/errors/platform-error.ts";
import type { Options } from "../command.ts";
import { matchName } from "../match-name.ts";
import { parseDynamic, parseForward } from "./forwarding/forward-spec.ts";
import type { ForwardAsk } from "./forwarding/start-forwards.ts";
import type { SshOption } from "./ssh-option.ts";

/** Settings of `tsh ssh`: its own options, and those in the terms of ssh. */
export interface SshSettings {
  readonly login: string | undefined;
  readonly forwards: ForwardAsk;
  /** Runs no session: lasts until the connection ends, or a signal arrives. */
  readonly isForwardOnly: boolean;
  /** The command is the name of a subsystem. */
  readonly isSubsystem: boolean;
  /** Standard input is not read. */
  readonly isStdinNull: boolean;
  readonly isQuiet: boolean;
  readonly isVerbose: boolean;
  readonly tty: "never" | "auto" | "wanted" | "forced";
  readonly agent: boolean;
  readonly x11: "trusted" | "untrusted" | undefined;
  /** One character; undefined: no escapes. */
  readonly escape: string | undefined;
  /** The configuration's command, if none was typed. */
  readonly command: string | undefined;
  /** Variables of this process's environment to send, besides the language. */
  readonly sentNames: readonly string[];
  readonly setEnv: Readonly<Record<string, string>>;
}

/** Pure. `given` are those of `-o` before those of a file: the first value applies, as in ssh; separate options take precedence. */
export function readSettings(options: Options, given: readonly SshOption[]): SshSettings {
  const said = new Said(given);
  const session = said.choice("sessiontype", ["none", "subsystem", "default"]);
  return {
    login: options.text("login") ?? said.first("user")?.value,
    forwards: readForwards(options, said),
    isForwardOnly: options.flag("forwardOnly") || session === "none",
    isSubsystem: options.flag("subsystem") || session === "subsystem",
    isStdinNull: options.flag("stdinNull") || said.yes("stdinnull"),
    isQuiet: options.flag("quiet") || said.first("loglevel")?.value.toLowerCase() === "quiet",
    isVerbose: options.flag("verbose") || /^(?:verbose|debug)/i.test(said.first("loglevel")?.value ?? ""),
    tty: readTty(options, said),
    agent: !options.flag("withoutAgent") && (options.flag("forwardAgent") || said.yes("forwardagent")),
    x11: readX11(options, said),
    escape: readEscape(options.text("escape") ?? said.first("escapechar")?.value),
    command: said.first("remotecommand")?.value.replace(/^none$/, "") || undefined,
    sentNames: said.all("sendenv").flatMap(({ value }) => value.split(/\s+/)),
    setEnv: Object.fromEntries(said.all("setenv").map(readSetEnv).reverse()),
  };
}

/** Settings by keyword. */
class Said {
  readonly #given: readonly SshOption[];

  constructor(given: readonly SshOption[]) {
    this.#given = given;
  }

  all(key: string): readonly SshOption[] {
    return this.#given.filter((one) => one.key === key);
  }

  first(key: string): SshOption | undefined {
    return this.#given.find((one) => one.key === key);
  }

  /** Throws `invalid` for any other value. */
  choice(key: string, values: readonly string[]): string | undefined {
    const found = this.first(key);
    if (found === undefined) return undefined;
    const value = found.value.toLowerCase();
    if (values.includes(value)) return value;
    throw new PlatformError("invalid", `${found.where}: ${JSON.stringify(found.value)} is not one of ${values.join(", ")}`);
  }

  yes(key: string): boolean {
    const value = this.choice(key, ["yes", "true", "no", "false"]);
    return value === "yes" || value === "true";
  }
}

function readForwards(options: Options, said: Said): ForwardAsk {
  const isStrict = said.yes("exitonforwardfailure");
  if (said.yes("clearallforwardings")) return { local: [], remote: [], dynamic: [], isStrict };
  // In a configuration the two places are two words.
  const spec = ({ value }: SshOption): string => value.trim().split(/\s+/).join(":");
  return {
    local: [...options.values("localForward"), ...said.all("localforward").map(spec)].map((text) => parseForward(text, "-L")),
    remote: [...options.values("remoteForward"), ...said.all("remoteforward").map(spec)].map((text) => parseForward(text, "-R")),
    dynamic: [...options.values("dynamicForward"), ...said.all("dynamicforward").map(spec)].map(parseDynamic),
    isStrict,
  };
}

function readTty(options: Options, said: Said): SshSettings["tty"] {
  if (options.flag("disableTty")) return "never";
  const times = options.count("tty");
  if (times > 0) return times > 1 ? "forced" : "wanted";
  const choice = said.choice("requesttty", ["no", "yes", "force", "auto"]);
  return choice === "no" ? "never" : choice === "yes" ? "wanted" : choice === "force" ? "forced" : "auto";
}

function readX11(options: Options, said: Said): SshSettings["x11"] {
  if (options.flag("withoutX11")) return undefined;
  if (options.flag("x11Trusted")) return "trusted";
  if (!options.flag("x11") && !said.yes("forwardx11")) return undefined;
  return said.yes("forwardx11trusted") ? "trusted" : "untrusted";
}

function readEscape(text = "~"): string | undefined {
  if (text === "none") return undefined;
  if (/^[\x21-\x7e]$/.test(text)) return text;
  const control = /^\^([@-_a-z])$/.exec(text)?.[1];
  if (control !== undefined) return String.fromCharCode(control.charCodeAt(0) & 31);
  throw new PlatformError("invalid", `${JSON.stringify(text)} is not an escape character`, { hint: 'give one character, ^ and a letter, or "none"' });
}

function readSetEnv({ value, where }: SshOption): readonly [string, string] {
  const parts = /^([^=\s]+)=(.*)$/s.exec(value);
  if (parts === null) throw new PlatformError("invalid", `${where}: ${JSON.stringify(value)} is not of the form NAME=value`);
  return [parts[1] as string, (parts[2] as string).replace(/^"(.*)"$/s, "$1")];
}

/** Variables that ssh sends too (SendEnv of Debian): language; TERM goes with the terminal. Requested ones are added. */
export function sentEnv(
  env: Readonly<Record<string, string | undefined>>,
  { sentNames, setEnv }: Pick<SshSettings, "sentNames" | "setEnv"> = { sentNames: [], setEnv: {} },
): Record<string, string> {
  const patterns = ["LANG", "LC_*", ...sentNames];
  const wanted = Object.entries(env).filter(([name, value]) => value !== undefined && patterns.some((pattern) => matchName(pattern, name)));
  return { ...(Object.fromEntries(wanted) as Record<string, string>), ...setEnv };
}
