type Env = Readonly<Record<string, string | undefined>>;

export const proxyVariables = ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "NO_PROXY", "no_proxy"] as const;

/**
 * The environment with the proxy variables of the agent's `/etc/default/platform`, when it has none itself: a run by hand then
 * takes the same way out as the one of the timer.
 */
export function withProxyVariables(env: Env, file: string): Env {
  if (proxyVariables.some((name) => (env[name] ?? "").trim() !== "")) return env;
  const found = parseEnvironmentFile(file);
  return { ...env, ...Object.fromEntries(proxyVariables.flatMap((name) => (found.has(name) ? [[name, found.get(name)]] : []))) };
}

/**
 * `NAME=value` lines as systemd reads an EnvironmentFile: `#` and `;` begin a comment line, quotes around a value are taken off, a
 * backslash before a character keeps it, and at the end of a line joins it with the next. What is none is left out. Never throws.
 */
export function parseEnvironmentFile(text: string): Map<string, string> {
  const found = new Map<string, string>();
  for (const raw of text.replace(/\\\r?\n/g, "").split("\n")) {
    const line = raw.trim();
    if (line.startsWith("#") || line.startsWith(";")) continue;
    const parts = /^(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)=(.*)$/.exec(line);
    if (parts?.[1] !== undefined && parts[2] !== undefined) found.set(parts[1], unquote(parts[2]));
  }
  return found;
}

function unquote(text: string): string {
  const quoted = /^(["'])(.*)\1$/s.exec(text);
  const inner = quoted?.[2] ?? text;
  return quoted?.[1] === "'" ? inner : inner.replace(/\\(.)/g, "$1");
}
