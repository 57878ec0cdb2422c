import type { RolePreview } from "../../core/api/web/access.ts";

type Change = Pick<RolePreview["changes"][number], "kind" | "name" | "as">;

const nouns = { ssh: "host", app: "application", db: "database", kube: "Kubernetes cluster" } as const;

/** What a user gains or loses: `host web-1 as root, ann`, `application wiki`, `Kubernetes cluster prod: get of pod a/* in group dev`, `list and read of role documents`. Pure. */
export function changeText({ kind, name, as }: Change): string {
  if (kind === "rule") return `${joined(as)} of ${name} documents`;
  const place = `${nouns[kind]} ${name}`;
  if (kind === "kube") return `${place}: ${joined(as)}`;
  return as.length === 0 ? place : `${place} as ${as.includes("*") ? "any user" : joined(as)}`;
}

function joined(names: readonly string[]): string {
  return names.length < 2 ? names.join("") : `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;
}
