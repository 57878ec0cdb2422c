import { expect, test } from "vitest";
import type { Role } from "../resources/role.ts";
import type { RoleOptions } from "../resources/role-options.ts";
import { type SessionRules, sessionRules } from "./session-rules.ts";

const role = (options: RoleOptions): Role => ({ kind: "role", version: "v7", metadata: { name: "r" }, spec: { options } });

test.for<readonly [options: readonly RoleOptions[], rules: Partial<SessionRules>]>([
  [[], { forwardAgent: false, portForwarding: true, fileCopy: true, x11Forwarding: false }],
  [[{}], { forwardAgent: false, portForwarding: true, fileCopy: true, x11Forwarding: false }],
  [[{ forward_agent: true }], { forwardAgent: true }],
  [[{ forward_agent: true }, {}], { forwardAgent: true }],
  [[{ forward_agent: true }, { forward_agent: false }], { forwardAgent: false }],
  [[{ port_forwarding: false }], { portForwarding: false }],
  [[{ port_forwarding: false }, { port_forwarding: true }], { portForwarding: false }],
  [[{ ssh_file_copy: false }, {}], { fileCopy: false }],
  [[{ ssh_file_copy: true }, { ssh_file_copy: false }], { fileCopy: false }],
  [[{ permit_x11_forwarding: true }], { x11Forwarding: true }],
  [[{ permit_x11_forwarding: false }, { permit_x11_forwarding: true }], { x11Forwarding: false }],
])("the options %j together: %j", ([options, rules]) => {
  expect(sessionRules(options.map(role))).toMatchObject(rules);
});
