import { expect, test } from "vitest";
import { isFileCopy, type ScpCopy, scpOf } from "./file-copy.ts";

test.for<readonly [command: string, expected: boolean]>([
  ["scp -t /tmp", true],
  ["scp -r -p -f file", true],
  ["scp -prt -- dir", true],
  [" /usr/bin/scp -f x", true],
  ["rsync --server --sender -logDtpre.iLsfxC . /etc", true],
  ["/usr/lib/openssh/sftp-server -e", true],
  ["internal-sftp", true],
  ["scp a b:c", false],
  ["rsync -a /a /b", false],
  ["echo scp -t", false],
  ["scpx -t", false],
  ["", false],
])("%j copies files: %s", ([command, expected]) => {
  expect(isFileCopy(command)).toBe(expected);
});

test.for<readonly [command: string, expected: ScpCopy | undefined]>([
  ["scp -t /tmp", { action: "upload", path: "/tmp" }],
  ["scp -r -p -f file", { action: "download", path: "file" }],
  ["scp -prt -- dir", { action: "upload", path: "dir" }],
  ["scp -f 'two words'", { action: "download", path: "'two words'" }],
  ["scp -d -t -- -odd", { action: "upload", path: "-odd" }],
  [" /usr/bin/scp -f x", { action: "download", path: "x" }],
  ["scp -t", undefined],
  ["scp a b:c", undefined],
  ["scp -p file", undefined],
  ["echo scp -t x", undefined],
  ["scpx -t x", undefined],
  ["rsync --server . /etc", undefined],
  ["", undefined],
])("%j copies %j", ([command, expected]) => {
  expect(scpOf(command)).toEqual(expected);
});
