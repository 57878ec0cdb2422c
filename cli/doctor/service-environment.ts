import type { Env } from "../../core/transport/dial/choose-proxy.ts";
import { parseEnvironmentFile, proxyVariables } from "../../core/transport/dial/proxy-environment.ts";
import type { Answer } from "./examination.ts";

/** The unit's environment file; `text` is undefined where there is none. */
export interface EnvironmentFile {
  readonly path: string;
  readonly text: string | undefined;
}

/**
 * The proxy variables with which the service runs: those of its environment file, else this shell's (a service that was started by
 * hand). Values are never shown: they may hold a password. Pure.
 */
export function serviceEnvironment(env: Env, { path, text }: EnvironmentFile): Answer<Env> {
  const file = parseEnvironmentFile(text ?? "");
  const inFile = proxyVariables.filter((name) => (file.get(name) ?? "").trim() !== "");
  const inShell = proxyVariables.filter((name) => (env[name] ?? "").trim() !== "");
  if (inFile.length === 0) {
    const says = inShell.length === 0 ? `no proxy is set, neither in ${path} nor here` : `${inShell.join(", ")} of this shell: ${path} sets no proxy`;
    const warning = inShell.length > 0 ? `a service of systemd does not have them: write them into ${path}` : undefined;
    return { says, value: env, warning };
  }
  const others = Object.fromEntries(Object.entries(env).filter(([name]) => !(proxyVariables as readonly string[]).includes(name)));
  return { says: `${inFile.join(", ")} as ${path} sets them`, value: { ...others, ...Object.fromEntries(file) } };
}
