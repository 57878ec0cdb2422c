import { expect, test } from "vitest";
import type { RoleOptions } from "../../core/resources/role-options.ts";
import { accessRole, openUserSession, ownLogin, runCommand } from "./testing/user-session.ts";

const everywhere = { "*": "*" };
const withOptions = (options: RoleOptions) => ({ roles: [accessRole([ownLogin], everywhere, options)] });

test("ssh_file_copy: false refuses scp's far side and records why; a command still runs", async () => {
  await using session = await openUserSession(withOptions({ ssh_file_copy: false }));
  const refused = await runCommand(session.client, "scp -t /tmp");
  expect(refused.code).toBe(255);
  expect(refused.stderr).toBe("platform: access denied: a role forbids copying files (ssh_file_copy: false)\r\n");
  expect((await runCommand(session.client, "echo ran")).stdout.toString()).toBe("ran\n");
  expect(session.events.find(({ event }) => event === "session.end")).toMatchObject({ reason: expect.stringContaining("ssh_file_copy") });
});

test("ssh_file_copy is allowed when no role says otherwise", async () => {
  await using session = await openUserSession();
  expect((await runCommand(session.client, "scp -t /nonexistent/folder/x")).stderr).not.toContain("access denied");
});
