import { PlatformError } from "../../core/errors/platform-error.ts";
import { matchName } from "../match-name.ts";

/** One setting in the terms of ssh_config(5): the keyword in lower case. */
export interface SshOption {
  readonly key: string;
  readonly value: string;
  /** Its origin, for messages: `-o User`, `file:3`. */
  readonly where: string;
}

/** Keywords that change what `tsh ssh` does. */
export const understood: ReadonlySet<string> = new Set([
  ...["clearallforwardings", "dynamicforward", "escapechar", "exitonforwardfailure", "forwardagent", "forwardx11", "forwardx11trusted"],
  ...["localforward", "loglevel", "remotecommand", "remoteforward", "requesttty", "sendenv", "sessiontype", "setenv", "stdinnull", "user"],
]);

/** Keywords that the proxy, the certificates and tsh itself make unnecessary: accepted without effect. */
const withoutEffect: ReadonlySet<string> = new Set([
  ...["addkeystoagent", "addressfamily", "batchmode", "challengeresponseauthentication", "checkhostip", "compression", "connectionattempts"],
  ...["connecttimeout", "controlmaster", "controlpath", "controlpersist", "fingerprinthash", "forwardx11timeout", "globalknownhostsfile"],
  ...[
    "gssapiauthentication",
    "gssapidelegatecredentials",
    "hashknownhosts",
    "identitiesonly",
    "identityfile",
    "ipqos",
    "kbdinteractiveauthentication",
  ],
  ...["nohostauthenticationforlocalhost", "numberofpasswordprompts", "passwordauthentication", "port", "preferredauthentications", "protocol"],
  ...["pubkeyauthentication", "serveralivecountmax", "serveraliveinterval", "stricthostkeychecking", "tcpkeepalive", "updatehostkeys"],
  ...["userknownhostsfile", "visualhostkey"],
]);

/** Keywords whose value `none` (or `no`) is tsh's own behaviour. */
const onlyNone: ReadonlySet<string> = new Set([
  "proxycommand",
  "proxyjump",
  "tunnel",
  "permitlocalcommand",
  "gatewayports",
  "forkafterauthentication",
]);

/** `Key=value` or `Key value` of `-o`, the value in quotes or not. Throws `invalid`. */
export function parseOption(text: string): SshOption {
  const parts = /^\s*([A-Za-z0-9]+)(?:\s*=\s*|\s+)(.*?)\s*$/s.exec(text);
  if (parts === null)
    throw new PlatformError("invalid", `-o ${JSON.stringify(text)} is not of the form keyword=value`, { hint: "as in -o SendEnv=LANG" });
  const [, name = "", value = ""] = parts;
  return { key: name.toLowerCase(), value: unquoted(value), where: `-o ${name}` };
}

/**
 * The lines of an ssh_config(5) file that apply to this host, in order; `Host` with patterns and `Match all` start sections.
 * Pure. Throws `unsupported` for sections and inclusions that tsh does not support.
 */
export function parseSshConfig(text: string, { file, host }: { readonly file: string; readonly host: string }): readonly SshOption[] {
  const options: SshOption[] = [];
  let counts = true;
  for (const [index, line] of text.split("\n").entries()) {
    const trimmed = line.trim();
    if (trimmed === "" || trimmed.startsWith("#")) continue;
    const where = `${file}:${index + 1}`;
    const parts = /^([A-Za-z0-9]+)(?:\s*=\s*|\s+)(.*)$/.exec(trimmed);
    if (parts === null) throw new PlatformError("invalid", `${where}: ${JSON.stringify(trimmed.slice(0, 100))} is not "Keyword value"`);
    const [, name = "", value = ""] = parts;
    const key = name.toLowerCase();
    if (key === "host") counts = matchesHost(value, host);
    else if (key === "match" && value.trim().toLowerCase() === "all") counts = true;
    else if (key === "match" || key === "include") {
      throw new PlatformError("unsupported", `${where}: tsh ssh does not support ${name}`, { hint: "use Host sections, or another file with -F" });
    } else if (counts) options.push({ key, value: unquoted(value.trim()), where });
  }
  return options;
}

/** Throws `unsupported` for a keyword that would change what ssh does and is not understood here: it must not be silently ignored. */
export function requireSupported({ key, value, where }: SshOption): void {
  if (understood.has(key) || withoutEffect.has(key)) return;
  if (onlyNone.has(key) && (value === "none" || value === "no")) return;
  throw new PlatformError("unsupported", `${where}: tsh ssh does not support ${key}`, {
    hint: "leave it out; docs/ssh-in-place.md lists the supported options",
  });
}

function unquoted(value: string): string {
  return value.length > 1 && value.startsWith('"') && value.endsWith('"') ? value.slice(1, -1) : value;
}

function matchesHost(patterns: string, host: string): boolean {
  let found = false;
  for (const pattern of patterns.split(/[\s,]+/)) {
    const isNegated = pattern.startsWith("!");
    if (!matchName(isNegated ? pattern.slice(1) : pattern, host)) continue;
    if (isNegated) return false;
    found = true;
  }
  return found;
}
