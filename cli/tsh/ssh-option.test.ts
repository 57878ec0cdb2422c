import { expect, test } from "vitest";
import { parseOption, parseSshConfig, requireSupported } from "./ssh-option.ts";

test.for([
  ["User=root", "user", "root"],
  ["User root", "user", "root"],
  ['User="root"', "user", "root"],
  ["  SendEnv =  GIT_* ", "sendenv", "GIT_*"],
  ["LocalForward 8080 db:80", "localforward", "8080 db:80"],
  ["SetEnv=A=b c", "setenv", "A=b c"],
] as const)("-o %j", ([text, key, value]) => {
  expect(parseOption(text)).toMatchObject({ key, value });
});

test.for(["", "User", "=x", "-x=y"])("-o %j is refused", (text) => {
  expect(() => parseOption(text)).toThrow(expect.objectContaining({ code: "invalid" }));
});

test.for([
  ["StrictHostKeyChecking=no", true],
  ["ControlPath=/tmp/%C", true],
  ["ProxyCommand=none", true],
  ["ProxyCommand=nc %h %p", false],
  ["HostName=elsewhere", false],
  ["Ciphers=aes128-ctr", false],
  ["Sendenv=X", true],
] as const)("-o %s is taken: %s", ([text, isTaken]) => {
  const option = parseOption(text);
  if (isTaken) requireSupported(option);
  else expect(() => requireSupported(option)).toThrow(expect.objectContaining({ code: "unsupported", message: expect.stringContaining(option.key) }));
});

const config = `# everybody
SendEnv GIT_PROTOCOL
Host db-* !db-2
  User postgres
host web-?
  User="www-data"
Match all
  RequestTTY no
`;

test.for([
  ["db-1", ["GIT_PROTOCOL", "postgres", "no"]],
  ["db-2", ["GIT_PROTOCOL", "no"]],
  ["web-1", ["GIT_PROTOCOL", "www-data", "no"]],
  ["web-10", ["GIT_PROTOCOL", "no"]],
] as const)("of a file, the sections count that name %s", ([host, values]) => {
  expect(parseSshConfig(config, { file: "f", host }).map(({ value }) => value)).toEqual(values);
});

test.for([
  ["Match user root", "unsupported"],
  ["Include other", "unsupported"],
  ["nonsense", "invalid"],
] as const)("a file with %j is refused with its line", ([line, code]) => {
  expect(() => parseSshConfig(`# first\n${line}\n`, { file: "f", host: "h" })).toThrow(
    expect.objectContaining({ code, message: expect.stringMatching(/^f:2: /) }),
  );
});
