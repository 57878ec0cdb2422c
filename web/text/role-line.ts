import type { Role } from "../../core/resources/role.ts";
import { labelLines } from "./role-fields.ts";

/** What a role gives, in a line: its description, else `hosts env=prod as root; applications team=web; rules for event`. Pure. */
export function roleLine({ metadata, spec }: Pick<Role, "metadata" | "spec">): string {
  if (metadata.description !== undefined && metadata.description !== "") return metadata.description;
  const { allow = {} } = spec;
  const ruled = (allow.rules ?? []).flatMap(({ resources }) => resources);
  const parts = [
    placesText("hosts", allow.node_labels, allow.logins),
    placesText("applications", allow.app_labels),
    placesText("databases", allow.db_labels, allow.db_users),
    placesText("Kubernetes clusters", allow.kubernetes_labels, allow.kubernetes_groups),
    ruled.length === 0 ? "" : `rules for ${[...new Set(ruled)].join(", ")}`,
  ].filter((part) => part !== "");
  return parts.length === 0 ? "gives no access by itself" : parts.join("; ");
}

type Labels = Parameters<typeof labelLines>[0];

function placesText(noun: string, labels: Labels, names: readonly string[] | undefined = []): string {
  if (labels === undefined || Object.keys(labels).length === 0) return "";
  const lines = labelLines(labels)?.replaceAll("\n", ", ") ?? Object.keys(labels).join(", ");
  const places = lines === "*=*" ? `all ${noun}` : `${noun} ${lines}`;
  return names.length === 0 ? places : `${places} as ${names.join(", ")}`;
}
