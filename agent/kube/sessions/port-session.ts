import { recordOrLog } from "../../service/record-or-log.ts";
import type { KubeSession } from "../kube-session.ts";
import type { PortEvents } from "../streams/port-tap.ts";
import { type Program, sessionFields } from "./program-session.ts";

/** Ports of one forwarding that are audited each. */
const maxPorts = 256;

/** A user's connections to ports of a pod: one event for each port, at its first connection. */
export class PortSession {
  readonly events: PortEvents;

  /** Records the ports that the request itself names. */
  constructor({ judged, stream, query }: Program, session: KubeSession) {
    const facts = sessionFields({ judged, stream }, session);
    const seen = new Set<number>();
    const onPort = (port: number): void => {
      if (seen.has(port) || seen.size >= maxPorts) return;
      seen.add(port);
      const addr = `${stream.namespace}/${stream.pod}:${port}`.slice(0, 256);
      void recordOrLog(session.deps, { event: "port", ...facts, success: true, addr, direction: "local" });
    };
    this.events = { onPort };
    for (const port of query.ports) onPort(port);
  }
}
