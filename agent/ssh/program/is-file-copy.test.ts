import { expect, test } from "vitest";
import { isFileCopy } from "./is-file-copy.ts";

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
