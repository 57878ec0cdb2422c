import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type UpgradeReason, upgradeReasons, upgradeRemedies } from "../../core/versions/upgrade-reason.ts";
import { exitStatus } from "../../updater/output.ts";

/** What the agent sees of its updater; no run ends so. */
const seenByAgent = new Set<string>(["updater_missing", "timer_off", "never_ran", "updater_silent"]);

test("docs/upgrade-reasons.md lists every reason in order, with its exit status, its meaning and what to do", () => {
  const lines = readFileSync(join(import.meta.dirname, "../../docs/upgrade-reasons.md"), "utf8").split("\n");
  const rows = lines.filter((line) => /^\| [a-z_]+ +\| [-01] /.test(line)).map((line) => line.split("|").map((cell) => cell.trim()));
  const reasons = Object.entries(upgradeReasons) as [UpgradeReason, string][];
  expect(rows.map((cells) => cells.slice(1, 4))).toEqual(
    reasons.map(([code, means]) => [code, seenByAgent.has(code) ? "-" : String(exitStatus(code, false)), means]),
  );
  // The Web UI shows the same advice; a link of the document is its text there.
  const advice = rows.map((cells) => [cells[1], cells[4]?.replaceAll(/\[([^\]]+)\]\([^)]*\)/g, "$1")]);
  expect(advice).toEqual(Object.entries(upgradeRemedies));
  // The head and the line below it.
  expect(lines.filter((line) => line.startsWith("|"))).toHaveLength(reasons.length + 2);
});
