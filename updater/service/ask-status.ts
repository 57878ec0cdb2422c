import { unixGet } from "../../core/transport/dial/unix-get.ts";
import { type AgentStatus, parseAgentStatus } from "./agent-status.ts";

const limits = { timeoutMs: 2000, maxBytes: 65_536 };

/** GET /status over a unix socket; undefined without a valid answer within 2 s. Never throws. */
export async function askStatus(socketPath: string): Promise<AgentStatus | undefined> {
  try {
    const { status, body } = await unixGet(socketPath, "/status", limits);
    return status === 200 ? parseAgentStatus(body.toString()) : undefined;
  } catch {
    return undefined;
  }
}
