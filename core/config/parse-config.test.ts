import { describe, expect, test } from "vitest";
import { parseConfig } from "./parse-config.ts";

const head = "version: v3\nplatform:\n  nodename: one\n";
const channels = `${head}auth_service: {}\nproxy_service:\n  automatic_upgrades_channels:\n`;

const agentHead = `${head}  proxy_server: a.test\nssh_service:\n`;
const pamProblems = [
  ["PAM that is neither on nor off", "enabled: maybe", 'enabled must be yes or no, not "maybe"'],
  ["a misspelt key of PAM", "servicename: x", "servicename is not a known key; did you mean service_name?"],
  ["a key of the reference's PAM that does nothing yet", "use_pam_auth: yes", "use_pam_auth is not supported yet; remove it"],
  ["a PAM service outside of its folder", "service_name: ../passwd", "service_name must be the name of a file in /etc/pam.d"],
  ["a PAM service that is a number", "service_name: 7", "service_name must be text, not a number; put it in quotes"],
  ["a PAM variable with no name", 'environment: { "A-B": x }', "environment.A-B must be the name of a variable"],
  ["a PAM variable that is a number", "environment: { A: 1 }", "environment.A must be text, not a number; put it in quotes"],
  ["a PAM variable of two lines", 'environment: { A: "b\\nc" }', "environment.A must be one line"],
  ["PAM variables as a list", "environment: [a]", "environment must be a section of keys, not a list"],
] as const;

const connectionProblems = [
  ["no connections of a user", "{ at_once: 0 }", ".at_once must be a whole number of connections, 1 to 10000"],
  ["more connections of a user than half of a proxy's", "{ per_second: 251 }", ".per_second must be a whole number of connections, 1 to 250"],
  ["a part of a connection", "{ per_second: 0.5 }", ".per_second must be a whole number"],
  ["connections as text", '{ at_once: "many" }', ".at_once must be a number, not text"],
  ["connections as one number", "500", " must be a section of keys, not a number"],
  [
    "more connections a second than at once",
    "{ at_once: 20, per_second: 21 }",
    " must not have a per_second above its at_once: a user who opens none saves up at_once, and never more",
  ],
  ["a misspelt key of connections", "{ atonce: 20 }", ".atonce is not a known key; did you mean at_once?"],
] as const;

function problems(text: string): string[] {
  return parseConfig(text).problems.map(({ line, text: what }) => `${line ?? "-"}: ${what}`);
}

describe("a file is accepted", () => {
  const good: [what: string, text: string][] = [
    ["with auth and proxy", `${head}auth_service:\n  enabled: yes\nproxy_service:\n  enabled: "yes"\n`],
    ["with an empty section", `${head}auth_service: {}\n`],
    [
      "of an agent",
      `${head}  proxy_server: proxy.test:443\n  auth_token: /etc/token\n  ca_pin: [a, b]\nssh_service:\n  enabled: true\n  labels: { env: dev }\n`,
    ],
    [
      "of a proxy on its own host",
      `${head}  auth_server: auth.test\n  join_params: { method: token, token_name: t }\nproxy_service:\n  public_addr: [a.test]\n`,
    ],
    [
      "with version channels",
      `${channels}    default:\n      static_version: 1.2.3\n      critical: yes\n    stable/cloud:\n      forward_url: https://up.test/v1/stable/cloud/\n    x: { forward_url: "http://127.0.0.1:80" }\n`,
    ],
    ["with connections of one user", `${head}auth_service:\n  connections_of_user: { at_once: 10000, per_second: 250 }\n`],
    ["with few connections of one user", `${head}auth_service:\n  connections_of_user: { at_once: 20 }\n`],
    ["with PAM", `${agentHead}  pam: { enabled: yes, service_name: platform-sshd, environment: { TEAM: "{{external.team}}" } }\n`],
    [
      "with any contents in sections that are off",
      `${head}auth_service: {}\ndb_service: { enabled: "no", databases: [{ name: x }] }\napp_service: { enabled: off }\nkubernetes_service: { enabled: false }\nwindows_desktop_service: { enabled: no, ldap: 7 }\nssh_service: { enabled: no, enhanced_recording: { enabled: yes }, commands: 7, labels: { a: b } }\n`,
    ],
    [
      "with SSH algorithms of its own",
      `${head}  ciphers: [aes256-ctr, aes128-gcm@openssh.com]\n  kex_algos: [diffie-hellman-group14-sha256]\n  mac_algos: [hmac-sha2-512-etm@openssh.com]\nauth_service: {}\n`,
    ],
    ["with byte order mark and Windows line ends", `\ufeff${head}auth_service: {}\n`.replaceAll("\n", "\r\n")],
  ];
  test.for(good)("%s", ([, text]) => {
    expect(problems(text)).toEqual([]);
  });
});

describe("a file is refused for", () => {
  const bad: [what: string, text: string, said: string][] = [
    ["no version", "platform: {}\nauth_service: {}\n", "1: version is missing; add the line version: v3"],
    ["another version", "version: v1\nauth_service: {}\n", "1: version must be v3"],
    [
      "an unknown key, with a suggestion",
      `${head}  nodenam: x\nauth_service: {}\n`,
      "4: platform.nodenam is not a known key; did you mean nodename?",
    ],
    [
      "a cipher that we do not have, with the names",
      `${head}  ciphers: [aes128-gcm@openssh.com, aes128-cbc]\nauth_service: {}\n`,
      '4: platform.ciphers.1 "aes128-cbc" is not supported; the names here are aes128-gcm@openssh.com, aes256-gcm@openssh.com, chacha20-poly1305@openssh.com, aes128-ctr, aes192-ctr, aes256-ctr',
    ],
    [
      "a MAC that is not encrypt-then-MAC",
      `${head}  mac_algos: [hmac-sha2-256]\nauth_service: {}\n`,
      '4: platform.mac_algos.0 "hmac-sha2-256" is not supported; the names here are hmac-sha2-256-etm@openssh.com, hmac-sha2-512-etm@openssh.com',
    ],
    [
      "no cipher that tsh supports",
      `${head}  ciphers: [aes256-ctr]\nauth_service: {}\n`,
      "4: platform.ciphers must hold one of aes128-gcm@openssh.com, aes256-gcm@openssh.com, chacha20-poly1305@openssh.com: tsh and the cluster's own connections have no others",
    ],
    ["an unknown section", `${head}sshservice: {}\nauth_service: {}\n`, "4: sshservice is not a known key; did you mean ssh_service?"],
    ["a key of the reference that does nothing yet", `${head}  cache: {}\nauth_service: {}\n`, "4: platform.cache is not supported yet; remove it"],
    [
      "a service that does not exist yet, and is on",
      `${head}windows_desktop_service: { enabled: yes }\nauth_service: {}\n`,
      "4: windows_desktop_service is not supported yet; remove it, or set enabled: no",
    ],
    [
      "an unknown section, even when it is off",
      `${head}sshservice: { enabled: no }\nauth_service: {}\n`,
      "4: sshservice is not a known key; did you mean ssh_service?",
    ],
    [
      "a service that does not exist yet",
      `${head}discovery_service: {}\nauth_service: {}\n`,
      "4: discovery_service is not supported yet; remove it, or set enabled: no",
    ],
    [
      "a channel with two sources",
      `${channels}    default:\n      static_version: v1.2.3\n      forward_url: https://up.test\n`,
      "7: proxy_service.automatic_upgrades_channels.default has both static_version and forward_url; keep one of them",
    ],
    [
      "a channel without a source",
      `${channels}    x:\n      critical: yes\n`,
      "7: proxy_service.automatic_upgrades_channels.x needs static_version or forward_url",
    ],
    [
      "a channel's version that is not a version",
      `${channels}    x:\n      static_version: v1.2\n`,
      '8: proxy_service.automatic_upgrades_channels.x.static_version must be a version such as "v1.2.3"',
    ],
    [
      "a channel that forwards without TLS",
      `${channels}    x:\n      forward_url: http://up.test\n`,
      "8: proxy_service.automatic_upgrades_channels.x.forward_url must begin with https:// (http:// only for a server on this machine)",
    ],
    [
      "a channel that forwards with a password",
      `${channels}    x:\n      forward_url: https://u:p@up.test\n`,
      "8: proxy_service.automatic_upgrades_channels.x.forward_url must not hold a user name or password",
    ],
    [
      "a channel's misspelt key",
      `${channels}    x:\n      static_version: v1.2.3\n      critica: yes\n`,
      "9: proxy_service.automatic_upgrades_channels.x.critica is not a known key; did you mean critical?",
    ],
    [
      "a channel's name that is not valid in a path",
      `${channels}    stable//cloud:\n      static_version: v1.2.3\n`,
      "7: proxy_service.automatic_upgrades_channels.stable//cloud is not a valid channel name; use letters, digits and ._~- with slashes between",
    ],
    ["a number as text", `${head}  auth_token: 12\nauth_service: {}\n`, "4: platform.auth_token must be text, not a number; put it in quotes"],
    ["a list as a section", `${head}auth_service: []\n`, "4: auth_service must be a section of keys, not a list"],
    ["an empty section", `${head}auth_service:\n`, "4: auth_service is empty; give it a value or remove the line"],
    ["a switch that is neither yes nor no", `${head}auth_service:\n  enabled: maybe\n`, '5: auth_service.enabled must be yes or no, not "maybe"'],
    ["a key that is there twice", `${head}  nodename: two\nauth_service: {}\n`, "4: this key is there twice; remove one of them"],
    ["a tab", "version: v3\nplatform:\n\tnodename: x\n", "3: indented with a tab; use spaces"],
    ["a relative folder", `${head}  data_dir: here\nauth_service: {}\n`, "4: platform.data_dir must be an absolute path"],
    [
      "two public addresses",
      `${head}auth_service: {}\nproxy_service:\n  public_addr:\n  - a.test\n  - b.test\n`,
      "6: proxy_service.public_addr must be one address: clients would be sent to the first of several, which they may be unable to reach",
    ],
    [
      "an address with a scheme",
      `${head}auth_service: {}\nproxy_service:\n  public_addr: https://a.test\n`,
      '6: proxy_service.public_addr must be host:port; "https://a.test" has a scheme',
    ],
    [
      "proxy_server beside auth_server",
      `${head}  proxy_server: a.test\n  auth_server: b.test\nproxy_service: {}\n`,
      "5: proxy_server and auth_server cannot both be set; keep proxy_server on an agent, auth_server on a proxy and on an agent that the proxies dial",
    ],
    [
      "auth_token beside join_params",
      `${head}  auth_token: a\n  join_params: { method: token, token_name: b }\nauth_service: {}\n`,
      "5: auth_token and join_params cannot both be set; keep one of them",
    ],
    [
      "an agent without a proxy",
      `${head}ssh_service: {}\n`,
      "4: an agent joins through the proxy; set platform.proxy_server to the proxy's public host:port (or auth_server to the auth service's, to join it directly)",
    ],
    [
      "an agent at the auth service without a pin",
      `${head}  auth_server: a.test\n  auth_token: t\nssh_service: {}\n`,
      "4: to join the auth service directly, set platform.ca_pin: it is how this host recognizes the auth service; `tctl status` shows the pin",
    ],
    ...["app_service: { apps: [{ name: a, uri: tcp://127.0.0.1:1 }] }", "db_service: { databases: [{ name: a, protocol: postgres, uri: a:1 }] }"].map(
      (section): [string, string, string] => [
        `what is reached through a tunnel alone, beside the auth service: ${section.slice(0, 3)}`,
        `version: v3\nplatform: { auth_server: "a:3025", ca_pin: "sha256:${"0".repeat(64)}" }\n${section}\n`,
        "3: only ssh_service and kubernetes_service may have a port that proxies dial: what this section offers is reached through a tunnel; set platform.proxy_server in place of auth_server",
      ],
    ),
    [
      "a label of Kubernetes clusters with a value and a command",
      `${head}kubernetes_service:\n  kubeconfig_file: /k\n  labels: { env: a }\n  commands: [{ name: env, command: [x] }]\n`,
      "7: a label has either a fixed value or a command; take it out of labels or out of commands",
    ],
    [
      "a proxy without an auth service",
      `${head}proxy_service: {}\n`,
      "4: without auth_service here the proxy needs platform.auth_server; set it to the auth service's host:port",
    ],
    [
      "an unknown recording mode",
      `${head}auth_service:\n  session_recording: yes\n`,
      "5: auth_service.session_recording must be node, node-sync, proxy, proxy-sync or off",
    ],
    ...pamProblems.map(([what, lines, said]): [string, string, string] => [what, `${agentHead}  pam:\n    ${lines}\n`, `7: ssh_service.pam.${said}`]),
    ...connectionProblems.map(
      ([what, text, said]) =>
        [what, `${head}auth_service:\n  connections_of_user: ${text}\n`, `5: auth_service.connections_of_user${said}`] as [string, string, string],
    ),
    ["nothing to run", head, "-: nothing to run: enable auth_service, proxy_service or ssh_service, app_service, db_service, kubernetes_service"],
    ["aliases", `${head}auth_service: &a {}\nproxy_service: *a\n`, "-: anchors and aliases are not supported; write the value out"],
    [
      "no YAML map",
      "- a\n- b\n",
      "-: must hold sections: platform, auth_service, proxy_service, ssh_service, app_service, db_service, kubernetes_service",
    ],
    [
      "a keypair without its key",
      `${head}auth_service: {}\nproxy_service:\n  https_keypairs:\n  - cert_file: /a\n`,
      "7: proxy_service.https_keypairs.0.key_file is missing; add it",
    ],
  ];
  test.for(bad)("%s", ([, text, said]) => {
    expect(problems(text)).toContain(said);
  });
});

test("all problems are found at once", () => {
  expect(problems(`${head}  nodenam: x\n  data_dir: here\nauth_service:\n  enabled: maybe\nssh_service: {}\n`)).toHaveLength(4);
});

describe("balancers are believed by their addresses alone", () => {
  const withKey = (key: string, value: string): readonly string[] =>
    problems(`version: v3\nplatform: {}\nauth_service: {}\nproxy_service:\n  ${key}: ${value}\n`);

  test.for(["proxy_protocol", "trust_x_forwarded_for"])("%s", (key) => {
    for (const value of ["off", "no", "false", "10.0.0.5", "[10.0.0.0/24, 2001:db8::/64]"]) expect(withKey(key, value)).toEqual([]);
    for (const value of ["on", "yes", "true", "[]", "[10.0.0.5, balancer.test]", "10.0.0.0/33", "7"]) {
      expect(withKey(key, value).join()).toContain("must be off, or the addresses of the balancers that send it");
    }
    for (const wide of ["0.0.0.0/0", "::/0", "0.0.0.0/1", "2000::/3", "::ffff:0:0/96"]) {
      expect(withKey(key, `["10.0.0.5", "${wide}"]`)).toEqual([
        expect.stringMatching(`proxy_service.${key}.*must not hold ${wide}: .*list the balancers`),
      ]);
    }
  });
});
