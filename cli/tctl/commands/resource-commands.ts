import type { CommandSpec } from "../../command.ts";
import { hostFilterOptions } from "../../host-filter.ts";
import type { Format } from "../../output.ts";
import { remote } from "./remote.ts";

const yamlFirst: readonly Format[] = ["yaml", "json", "text", "names"];

/** get, create, rm: for resources of every kind. */
export const resourceCommands: readonly CommandSpec[] = [
  remote({
    name: "get",
    summary: "print resources: all of a kind, or one",
    details:
      "Print resources: all of a kind (role, user, token, node, lock, cluster_maintenance_config, upgrade_rollout), or one. JSON is a list for a kind and the document itself for kind/name.",
    args: ["<kind[/name]>"],
    options: [...hostFilterOptions, { flags: "--with-secrets", text: "also print secrets; no kind holds any in this version" }],
    formats: yamlFirst,
    examples: ["tctl get role/access > access.yaml", 'tctl get nodes --query=\'labels["env"] == "prod"\' --format=json'],
    run: async (call) => (await import("../resources.ts")).getResources(call),
  }),
  remote({
    name: "create",
    summary: "create resources from a file",
    details: "Create resources from a YAML file with one or more documents, or from standard input (-). All are checked before the first is sent.",
    args: ["[file]"],
    options: [{ flags: "-f, --force", text: "overwrite existing resources" }],
    longFormatOnly: true,
    examples: ["tctl create role.yaml", "tctl get role/access | sed s/old/new/ | tctl create -f -"],
    run: async (call) => (await import("../resources.ts")).createResources(call),
  }),
  remote({
    name: "rm",
    summary: "remove a resource",
    args: ["<kind/name>"],
    examples: ["tctl rm role/contractor"],
    run: async (call) => (await import("../resources.ts")).removeResource(call),
  }),
];
