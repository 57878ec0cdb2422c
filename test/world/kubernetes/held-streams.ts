import type { KubeWorld } from "./kube-world.ts";

export interface StreamPlace {
  readonly namespace: string;
  readonly subresource: "exec" | "attach" | "portforward";
}

/** Streams into pods that have begun at the API server, and have not ended there. */
export async function heldStreams(world: Pick<KubeWorld, "auditEvents">, { namespace, subresource }: StreamPlace): Promise<number> {
  const events = await world.auditEvents(({ objectRef }) => objectRef?.namespace === namespace && objectRef.subresource === subresource);
  const ended = new Set(events.filter(({ stage }) => stage === "ResponseComplete").map(({ auditID }) => auditID));
  return events.filter(({ stage, auditID }) => stage === "ResponseStarted" && !ended.has(auditID)).length;
}
