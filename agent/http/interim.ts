import { PlatformError } from "../../core/errors/platform-error.ts";
import type { ClientAnswer } from "./exchange.ts";

/* Interim responses (1xx) come before the response, and nothing but these limits bounds their number. */

/** Those of one request that go on to its client. */
const mostPassed = 8;
/** Those of a server to one request: with a 102 each 20 s, the response may take hours. */
const mostReceived = 1_000;

/**
 * `inform` of a ClientAnswer over `send`, which may throw. Never throws. Passes on 8 at most, and none while the client is behind with reading. The first 100 goes on in any case,
 * since the client waits for it with its body; another one states nothing new.
 */
export function boundedInform(send: ClientAnswer["inform"], isBehind: () => boolean): ClientAnswer["inform"] {
  let passed = 0;
  let hasContinued = false;
  return (status, headers) => {
    if (status === 100 ? hasContinued : passed >= mostPassed || isBehind()) return;
    if (status === 100) hasContinued = true;
    else passed += 1;
    try {
      send(status, headers);
    } catch {
      // Node throws for fields that it does not send, and nobody would catch it: they are left out.
    }
  };
}

/** A counter of the interim responses to one request. Calls `fail` with PlatformError `unavailable`, once, when there are more than 1,000. */
export function limitInterim(fail: (error: PlatformError) => void): () => void {
  let received = 0;
  return () => {
    received += 1;
    if (received === mostReceived + 1) {
      fail(new PlatformError("unavailable", `the server sent more than ${mostReceived} interim responses (1xx) and no response`));
    }
  };
}
