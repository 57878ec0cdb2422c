type Env = Readonly<Record<string, string | undefined>>;

export const proxyVariables = ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "NO_PROXY", "no_proxy"] as const;

/**
 * The environment with the proxy variables of the agent's `/etc/default/platform`, if it has none itself: a manual run then
 * uses the same proxy as the timer's run.
 */
export function withProxyVariables(env: Env, file: string): Env {
  if (proxyVariables.some((name) => (env[name] ?? "").trim() !== "")) return env;
  const found = parseEnvironmentFile(file);
  return { ...env, ...Object.fromEntries(proxyVariables.flatMap((name) => (found.has(name) ? [[name, found.get(name)]] : []))) };
}

/** Assignments of an EnvironmentFile, and lines that systemd ignores. */
export interface EnvironmentText {
  readonly values: Map<string, string>;
  /** `line` from 1; `name` is the text before the equals sign, or the line. */
  readonly ignored: readonly { readonly line: number; readonly name: string }[];
}

/** The values of an EnvironmentFile as systemd reads it. Never throws. */
export function parseEnvironmentFile(text: string): Map<string, string> {
  return readEnvironment(text).values;
}

/**
 * `NAME=value` as systemd reads an EnvironmentFile (systemd.exec(5), parse_env_file_internal): `#` and `;` begin a comment line, quotes are
 * removed anywhere, a backslash before a character keeps it (in double quotes only before `"`, `\`, `` ` `` and `$`), and at the
 * end of a line joins it with the next. `export NAME=value` is not an assignment. Never throws.
 */
export function readEnvironment(text: string): EnvironmentText {
  const values = new Map<string, string>();
  const ignored: { line: number; name: string }[] = [];
  let line = 1;
  for (let at = 0, next = 0; at < text.length; line += countLines(text, at, next), at = next) {
    const end = lineEnd(text, at);
    const [written = "", name = ""] = /^([^=\n]*)=/.exec(text.slice(at, end)) ?? [];
    const whole = text.slice(at, end).trim();
    if (whole === "" || /^[#;]/.test(whole) || written === "") {
      if (whole !== "" && !/^[#;]/.test(whole)) ignored.push({ line, name: whole.slice(0, 64) });
      next = end + 1;
      continue;
    }
    const value = readValue(text, at + written.length);
    if (/^[A-Za-z_][A-Za-z0-9_]*$/.test(name.trim())) values.set(name.trim(), value.text);
    else ignored.push({ line, name: name.trim().slice(0, 64) });
    ({ next } = value);
  }
  return { values, ignored };
}

function countLines(text: string, from: number, to: number): number {
  return text.slice(from, to).match(/\n/g)?.length ?? 0;
}

function lineEnd(text: string, at: number): number {
  const end = text.indexOf("\n", at);
  return end < 0 ? text.length : end;
}

/** The value that begins at `at`, up to the end of its line; `next` is where the next line begins. */
function readValue(text: string, at: number): { readonly text: string; readonly next: number } {
  let value = "";
  /** End of the part that is kept even if it is trailing white space. */
  let kept = 0;
  let next = at;
  while (next < text.length && text[next] !== "\n") {
    const char = text[next] ?? "";
    if (char === "'" || char === '"') {
      const quoted = readQuoted(text, next);
      value += quoted.text;
      kept = value.length;
      ({ next } = quoted);
      // Between and after quotes white space does not count.
      while (/[ \t\r]/.test(text[next] ?? "")) next += 1;
      continue;
    }
    if (char === "\\") {
      const escaped = text.startsWith("\r\n", next + 1) ? "\r\n" : (text[next + 1] ?? "");
      if (!escaped.endsWith("\n")) {
        value += escaped;
        kept = value.length;
      }
      next += 1 + escaped.length;
      continue;
    }
    if (value !== "" || !/\s/.test(char)) value += char;
    if (!/\s/.test(char)) kept = value.length;
    next += 1;
  }
  return { text: value.slice(0, kept), next: next + 1 };
}

/** The text in the quotes that open at `at`; everything if they are not closed. */
function readQuoted(text: string, at: number): { readonly text: string; readonly next: number } {
  const quote = text[at];
  let value = "";
  let next = at + 1;
  for (; next < text.length && text[next] !== quote; next += 1) {
    const [char = "", after = ""] = [text[next], text[next + 1]];
    if (quote === '"' && char === "\\" && after !== "") {
      next += 1;
      if (after !== "\n") value += '"\\`$'.includes(after) ? after : `\\${after}`;
    } else value += char;
  }
  return { text: value, next: next + 1 };
}
