import { expect, test } from "vitest";
import { browserSessionHeader, fromConnectError, toConnectError, unusedSessionHeader } from "../../../../core/api/auth-call.ts";
import type { AuthClient } from "../../../../core/api/auth-client.ts";
import { PlatformError } from "../../../../core/errors/platform-error.ts";
import { authClientOf } from "../../../../test/inside/auth-client-of.ts";
import { formatCredential, newSessionCredential } from "../../../browser/session-credential.ts";
import { browserSessions } from "./browser-sessions.ts";

const [alice, stranger] = [newSessionCredential(), newSessionCredential()];
const address = "198.51.100.4";

/** Sessions at an auth service that knows Alice's, and what its calls had in their headers. */
function given() {
  const unused: (string | null)[] = [];
  const note = ({ requestHeader }: { readonly requestHeader: Headers }): void => {
    if (requestHeader.get(browserSessionHeader) !== formatCredential(alice))
      throw toConnectError(new PlatformError("unauthenticated", "this session has ended"));
    unused.push(requestHeader.get(unusedSessionHeader));
  };
  const auth = authClientOf({
    getBrowserSession: (_request, call) => {
      note(call);
      return { user: "alice", roles: ["access"], expires: "2026-11-20T12:00:00Z" };
    },
    listBrowserSessions: (_request, call) => {
      note(call);
      return {};
    },
  });
  const getBrowserSession: AuthClient["getBrowserSession"] = async (...call) => {
    try {
      return await auth.getBrowserSession(...call);
    } catch (thrown) {
      throw fromConnectError(thrown);
    }
  };
  return { sessions: browserSessions({ ...auth, getBrowserSession }, "main", () => 0), unused };
}

test("calls of a page that refreshes itself carry that to the auth service, and others do not", async () => {
  const { sessions, unused } = given();
  for (const isUnused of [true, false]) {
    const user = await sessions.find(alice, address, isUnused);
    expect(user).toMatchObject({ user: "alice", isUnused });
    await sessions.clientOf(user, address).listBrowserSessions({});
  }
  expect(unused).toEqual(["1", "1", null, null]);
});

test("a session that was just opened is found, however many were made up at its address", async () => {
  const { sessions } = given();
  const guess = async () => await sessions.find({ ...stranger, id: crypto.randomUUID() }, address).catch(({ code }: PlatformError) => code);
  for (let guesses = 0; guesses < 200; guesses += 1) await guess();
  await expect(sessions.find(alice, address)).rejects.toMatchObject({ code: "limit" });
  sessions.opened(alice);
  expect(await sessions.find(alice, address)).toMatchObject({ user: "alice" });
});
