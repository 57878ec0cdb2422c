import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { z } from "zod";
import { ProcessState } from "../../cli/platform/reload/process-state.ts";
import { processMetrics } from "../../cli/platform/start.ts";
import { proxyMetrics } from "../../control/proxy/identity/web-certificates.ts";
import { upgradeReasons } from "../../core/versions/upgrade-reason.ts";
import { openTestAuth } from "../inside/open-auth.ts";

const root = resolve(import.meta.dirname, "../..");

/** Name and type of every metric, as a process that is all tells them. */
async function served(): Promise<ReadonlyMap<string, string>> {
  await using t = await openTestAuth();
  const state = new ProcessState(["auth"], "main");
  const certificate = { file: "/web.pem", names: [], until: "2026-01-01T00:00:00Z" };
  const text = (await processMetrics(state)) + (await t.auth.metrics()) + (await proxyMetrics([certificate]));
  return new Map([...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name = "", type = ""]) => [name, type]));
}

test("docs/metrics.md lists every metric with its type", async () => {
  const page = readFileSync(join(root, "docs/metrics.md"), "utf8");
  const written = [...page.matchAll(/^\| `(\w+)` \| (\w+) \|/gm)].map(([, name = "", type = ""]) => [name, type] as const);
  expect(new Map(written)).toEqual(new Map(await served()));
});

const rulesSchema = z.strictObject({
  groups: z.array(
    z.strictObject({
      name: z.string(),
      interval: z.string().optional(),
      rules: z.array(
        z.strictObject({
          alert: z.string().regex(/^Platform[A-Za-z]+$/),
          expr: z.string(),
          for: z.string().optional(),
          labels: z.strictObject({ severity: z.enum(["critical", "warning", "info"]) }),
          annotations: z.strictObject({ summary: z.string(), action: z.string() }),
        }),
      ),
    }),
  ),
});

test("the alert rules are well formed, and name metrics and reasons that exist", async () => {
  const { groups } = rulesSchema.parse(parse(readFileSync(join(root, "packaging/prometheus/platform-alerts.yaml"), "utf8")));
  const names = await served();
  const rules = groups.flatMap((group) => group.rules);
  expect(new Set(rules.map(({ alert }) => alert)).size).toBe(rules.length);
  for (const { alert, expr } of rules) {
    const bare = expr.replace(/"[^"]*"/g, "").replace(/\{[^}]*\}/g, "");
    const used = (bare.match(/[a-z_][a-z0-9_]*/g) ?? []).filter((word) => !["or", "and", "up", "time"].includes(word));
    expect(used.length, alert).toBeGreaterThan(0);
    for (const name of used) expect(names.has(name), `${alert}: ${name}`).toBe(true);
    for (const [, wanted = ""] of expr.matchAll(/reason=~?"([^"]*)"/g)) {
      for (const reason of wanted.split("|")) expect(upgradeReasons, `${alert}: ${reason}`).toHaveProperty(reason);
    }
  }
});
