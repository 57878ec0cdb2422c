import type { ListedApp } from "../../core/api/web/served.ts";
import { StateText } from "../parts/state-text.tsx";

/** Whether a resource answers the checks of its agents. */
export function HealthText({ health, why }: { readonly health: ListedApp["health"]; readonly why?: string | undefined }) {
  const tone = health === "healthy" ? "good" : health === "unhealthy" ? "bad" : "idle";
  return <StateText tone={tone}>{why === undefined ? health : `${health}: ${why}`}</StateText>;
}
