import { type IncomingMessage, request } from "node:http";
import { type AgentStatus, parseAgentStatus } from "./agent-status.ts";

const limitMs = 2000;
const maxBytes = 65_536;

/** GET /status over a unix socket; undefined without a valid answer within 2 s. Never throws. */
export async function askStatus(socketPath: string): Promise<AgentStatus | undefined> {
  try {
    const text = await getText(socketPath, AbortSignal.timeout(limitMs));
    return text === undefined ? undefined : parseAgentStatus(text);
  } catch {
    return undefined;
  }
}

async function getText(socketPath: string, signal: AbortSignal): Promise<string | undefined> {
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    request({ socketPath, path: "/status", headers: { host: "localhost", connection: "close" }, agent: false, signal })
      .on("response", resolve)
      .on("error", reject)
      .end();
  });
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > maxBytes) return undefined;
    chunks.push(chunk);
  }
  return response.statusCode === 200 ? Buffer.concat(chunks).toString() : undefined;
}
