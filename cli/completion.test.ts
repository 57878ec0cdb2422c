import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import { completionScript } from "./completion.ts";
import { tctl } from "./tctl/tctl.ts";
import { tsh } from "./tsh/tsh.ts";

/** What bash offers for the last of these words. */
function offered(words: readonly string[]): readonly string[] {
  const [name = ""] = words;
  const script = completionScript(name === "tsh" ? tsh : tctl, "bash");
  const list = words.map((word) => `'${word}'`).join(" ");
  const run = `${script}\nCOMP_WORDS=(${list}); COMP_CWORD=${words.length - 1}; _${name}_complete; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const done = spawnSync("bash", ["--norc", "-euc", run], { encoding: "utf8" });
  expect(done.stderr).toBe("");
  return done.stdout.trim().split("\n");
}

test.for([
  [
    ["tsh", "lo"],
    ["login", "logout"],
  ],
  [
    ["tsh", "proxy", ""],
    ["ssh", "app", "db", "kube", "-h", "--help"],
  ],
  [
    ["tsh", "db", "e"],
    ["env", "exec"],
  ],
  [
    ["tsh", "db", "config", "--format", ""],
    ["text", "cmd", "json", "yaml"],
  ],
  [
    ["tsh", "db", "exec", "--d"],
    ["--dbs", "--db-user", "--db-name"],
  ],
  [["tsh", "login", "--ca"], ["--ca-pin"]],
  [
    ["tsh", "status", "--format", ""],
    ["text", "json", "yaml"],
  ],
  [["tsh", "status", "--format", "=", "j"], ["json"]],
  [["tsh", "status", "-f", "y"], ["yaml"]],
  [
    ["tctl", "users", "u"],
    ["update", "unlock"],
  ],
  [
    ["tctl", "users", "update", "--set"],
    ["--set-roles", "--set-logins", "--set-db-users", "--set-db-names", "--set-db-roles", "--set-kubernetes-users", "--set-kubernetes-groups"],
  ],
  [
    ["tctl", "auth", "export", "--type", "tls"],
    ["tls-host", "tls-user"],
  ],
  [
    ["tctl", "create", "--f"],
    ["--force", "--format"],
  ],
] as const)("bash completes %j", ([words, expected]) => {
  expect(offered(words)).toEqual(expected);
});

test("every command and option of the table is in the script for fish", () => {
  const script = completionScript(tctl, "fish");
  for (const word of ["-a users", "-a export", "-l set-roles", "-l data-dir", "-s f"]) expect(script).toContain(word);
});

test("zsh uses the function of bash through bashcompinit", () => {
  expect(completionScript(tsh, "zsh")).toMatch(/^autoload -U \+X bashcompinit && bashcompinit\n_tsh_complete\(\)/);
});
