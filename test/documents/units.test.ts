import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { expect, test } from "vitest";

/** `Section.Key=value` of a unit or a drop-in, in their order. */
function lines(name: string): readonly string[] {
  let section = "";
  return readFileSync(resolve(import.meta.dirname, "../../packaging/systemd", name), "utf8")
    .split("\n")
    .flatMap((line) => {
      if (line.startsWith("[")) section = line.slice(1, -1);
      return line === "" || line.startsWith("#") || line.startsWith("[") ? [] : [`${section}.${line}`];
    });
}

/** "Package-manager installs configure the service's systemd unit …" (the specification, HTTP CONNECT tunneling, 7). */
const specified = [
  "Unit.After=network.target",
  "Service.Type=simple",
  "Service.Restart=always",
  "Service.RestartSec=5",
  "Service.EnvironmentFile=-/etc/default/platform",
  "Service.ExecStart=/usr/bin/platform start --config /etc/platform.yaml --pid-file=/run/platform.pid",
  `Service.ExecReload=/bin/sh -c 'exec kill -HUP "$$(cat /run/platform.pid)"'`,
  "Service.LimitNOFILE=524288",
  "Install.WantedBy=multi-user.target",
];

test("platform.service says what the specification says, line by line, and nothing else but what it is", () => {
  const about = (line: string): boolean => /^Unit\.(Description|Documentation)=/.test(line);
  expect(lines("platform.service").filter((line) => !about(line))).toEqual(specified);
});

test("drop-ins change none of that; a reload does more after the signal", () => {
  // What is written again is added to it; an empty one would take it away.
  const keys = new Set(specified.map((line) => line.split("=")[0]).filter((key) => key !== "Service.ExecReload"));
  expect(lines("10-platform.conf")).not.toContain("Service.ExecReload=");
  for (const name of ["10-platform.conf", "20-platform-upgrade.conf"]) {
    expect(lines(name).filter((line) => keys.has(line.split("=")[0]))).toEqual([]);
  }
});

test("the service is heard by its main process alone, dumps nothing, and survives a session that runs out of memory", () => {
  expect(lines("10-platform.conf")).toEqual(
    expect.arrayContaining(
      ["NotifyAccess=main", "WatchdogSec=0", "OOMPolicy=continue", "LimitCORE=0", "Delegate=yes", "RuntimeDirectory=platform"].map(
        (line) => `Service.${line}`,
      ),
    ),
  );
});

test("the timer asks once after the boot and then again and again, not all hosts at once", () => {
  expect(lines("platform-upgrade.timer").filter((line) => line.startsWith("Timer."))).toEqual(
    expect.arrayContaining([expect.stringMatching(/^Timer\.OnUnitActiveSec=/), expect.stringMatching(/^Timer\.RandomizedDelaySec=/)]),
  );
});
