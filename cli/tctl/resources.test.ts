import { expect, test } from "vitest";
import { maintenanceSchema } from "../../core/resources/maintenance.ts";
import { parseReference } from "./documents.ts";
import { readManifest } from "./manifest.ts";
import { maintenanceTable } from "./resources.ts";

const manifest = (lines: string): string => `kind: cluster_maintenance_config\nspec:\n  agent_upgrades:\n${lines}`;

test("the specification's manifest needs neither a name nor a version", () => {
  const [read] = readManifest(manifest("    utc_start_hour: 2\n    weekdays:\n      - Mon\n      - Thursday\n"), "window.yaml");
  expect(read).toMatchObject({
    kind: "cluster_maintenance_config",
    name: "cluster-maintenance-config",
    document: { version: "v1", spec: { agent_upgrades: { utc_start_hour: 2, weekdays: ["Mon", "Thursday"] } } },
  });
});

test("what is wrong is named with its line", () => {
  const text = manifest("    utc_start_hour: 25\n    weekdays: [Mon, Funday, mon]\n");
  const problem = /line 4: .*utc_start_hour: is an hour from 0 to 23\n {2}line 5: .*weekdays.*is not a weekday/;
  expect(() => readManifest(text, "window.yaml")).toThrow(problem);
});

test.for(["cmc", "cluster_maintenance_config", "cluster_maintenance_config/cluster-maintenance-config"])("%s is the one document", (text) => {
  expect(parseReference(text)).toEqual({ kind: "cluster_maintenance_config", name: "cluster-maintenance-config" });
});

test.for([
  [{ utc_start_hour: 3 }, "03:00-04:00 UTC every day"],
  [{ utc_start_hour: 23, weekdays: ["Sat", "sun"] }, "23:00-00:00 UTC Sat,sun"],
] as const)("%j is shown as %s", ([agent_upgrades, line]) => {
  const document = maintenanceSchema.parse({ kind: "cluster_maintenance_config", spec: { agent_upgrades } });
  expect(maintenanceTable([document]).split("\n")[2]).toBe(line);
});
