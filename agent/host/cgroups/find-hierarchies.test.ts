import { expect, test } from "vitest";
import { findHierarchies } from "./find-hierarchies.ts";

const v2 = "24 30 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate,memory_recursiveprot\n";
const hybrid = `31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw
35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
39 31 0:36 / /sys/fs/cgroup/pids rw,relatime - cgroup cgroup rw,pids
40 31 0:37 / /sys/fs/cgroup/systemd rw,relatime - cgroup cgroup rw,xattr,name=systemd
41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
`;

test.for([
  ["the service's own group", "0::/system.slice/platform.service\n"],
  ["a group that a process before has made for itself", "0::/system.slice/platform.service/agent\n"],
])("cgroup v2: %s", ([, cgroup]) => {
  expect(findHierarchies(cgroup as string, v2)).toEqual([{ kind: "unified", folder: "/sys/fs/cgroup/system.slice/platform.service" }]);
});

test("v1 and hybrid: each hierarchy in which the service has a group", () => {
  const cgroup =
    "9:name=systemd:/system.slice/p.service\n8:pids:/system.slice/p.service\n5:devices:/system.slice\n4:memory:/system.slice\n0::/system.slice/p.service\n";
  expect(findHierarchies(cgroup, hybrid)).toEqual([
    { kind: "systemd", folder: "/sys/fs/cgroup/systemd/system.slice/p.service" },
    { kind: "pids", folder: "/sys/fs/cgroup/pids/system.slice/p.service" },
    { kind: "unified", folder: "/sys/fs/cgroup/unified/system.slice/p.service" },
  ]);
});

test("a mount that shows only part of the tree", () => {
  const mounts = "40 31 0:37 /m1/payload /sys/fs/cgroup/systemd\\040x rw - cgroup cgroup rw,name=systemd\n";
  expect(findHierarchies("9:name=systemd:/m1/payload/system.slice/p.service/agent\n", mounts)).toEqual([
    { kind: "systemd", folder: "/sys/fs/cgroup/systemd x/system.slice/p.service" },
  ]);
  expect(findHierarchies("9:name=systemd:/m12/system.slice/p.service\n", mounts)).toEqual([]);
});

test.for(["0::/\n", "0::/user.slice/user-0.slice/session-3.scope\n", "0::/docker/agent\n", "0::/../x.service\n", "", "nonsense\n", "0::x.service\n"])(
  "no service: %j",
  (cgroup) => {
    expect(findHierarchies(cgroup, v2)).toEqual([]);
  },
);
