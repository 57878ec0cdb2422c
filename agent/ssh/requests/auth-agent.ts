import { errorText } from "../../../core/errors/platform-error.ts";
import type { RequestReply, SessionChannel } from "../session-channel.ts";

/** `auth-agent-req@openssh.com`: answered at once, because the client counts answers; the program waits for the socket. */
export function authAgent(channel: SessionChannel, { accept, reject }: RequestReply): void {
  const { agent, facts } = channel;
  if (!agent.isAllowed) {
    reject?.();
    return;
  }
  channel.agentPath = agent.path().catch((thrown: unknown) => {
    facts.deps.log.warn("could not create an agent socket", { sid: channel.sid, error: errorText(thrown) });
    return undefined;
  });
  accept?.();
}
