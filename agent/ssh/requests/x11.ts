import type { X11Info } from "ssh2";
import { errorText, toPlatformError } from "../../../core/errors/platform-error.ts";
import { parseX11Ask, type X11Ask } from "../forwarding/x11-ask.ts";
import type { RequestReply, SessionChannel } from "../session-channel.ts";
import { sessionFacts } from "../session-facts.ts";

/** `x11-req`: answered at once, because the client counts answers; the program waits for the display. */
export function x11(channel: SessionChannel, { accept, reject }: RequestReply, info: X11Info): void {
  const ask = parseX11Ask(info);
  const why = channel.display !== undefined ? "a session may have only one display" : channel.x11.refusal;
  if (ask === undefined || why !== undefined) {
    reject?.();
    channel.track(record(channel, why ?? "unsupported X11 authentication protocol").catch((thrown: unknown) => log(channel, thrown)));
    return;
  }
  channel.display = open(channel, ask).catch((thrown: unknown) => {
    log(channel, thrown);
    return undefined;
  });
  accept?.();
}

async function open(channel: SessionChannel, ask: X11Ask): Promise<string> {
  let display: string;
  try {
    display = await channel.x11.open(ask, channel.gone);
  } catch (thrown) {
    await record(channel, toPlatformError(thrown).message);
    throw thrown;
  }
  await record(channel);
  return display;
}

function record({ facts, sid }: SessionChannel, error?: string): Promise<void> {
  return facts.deps.audit.record({ event: "x11", ...sessionFacts(facts, sid), success: error === undefined, ...(error !== undefined && { error }) });
}

function log({ facts, sid }: SessionChannel, thrown: unknown): void {
  facts.deps.log.warn("could not create an X11 display", { sid, error: errorText(thrown) });
}
