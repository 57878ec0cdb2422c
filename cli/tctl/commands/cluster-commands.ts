import { authorityExports, authorityNames, type ExportForm } from "../../../core/kinds/authority-kinds.ts";
import type { CommandSpec } from "../../command.ts";
import { connected, hostOptions, remote } from "./remote.ts";

/*
 * Commands for the cluster as a whole, and for its authorities.
 */

export const statusCommand: CommandSpec = remote({
  name: "status",
  summary: "show the cluster, its version and its CA pin",
  examples: ["tctl status", "tctl status --format=json | jq -r '.ca_pins[0]'"],
  run: async (call) => (await import("../status.ts")).status(call),
});

export const backupCommand: CommandSpec = {
  name: "backup",
  summary: "write everything that is needed to restore this auth host elsewhere into one file",
  details:
    "Write configuration, keys, users, roles, hosts and audit log of this auth host into one archive, even while it serves; recordings are left\nout. The file appears when it is complete on the disk, is readable by its owner only, and never replaces another. docs/operations.md explains how to restore it.",
  args: ["<file>"],
  options: hostOptions,
  formats: ["text", "json", "yaml"],
  examples: ["tctl backup /root/platform-$(date +%F).tar.gz"],
  run: async (call) => (await import("../backup/backup.ts")).backup(call),
};

const forms: Readonly<Record<ExportForm, string>> = {
  known_hosts: "lines for known_hosts (@cert-authority)",
  ssh_keys: "lines for TrustedUserCAKeys of sshd",
  pem: "PEM certificates",
};
const exportLines = authorityExports.map(({ type, form }) => `  ${type.padEnd(10)}${forms[form]}`);

export const authCommands: CommandSpec = {
  name: "auth",
  summary: "the cluster's authorities",
  commands: [
    remote({
      name: "export",
      summary: "print public keys of an authority",
      details: `Print public keys of an authority; during a rotation there are two, with the signing one first.\n${exportLines.join("\n")}`,
      options: [
        { flags: "--type <type>", text: "authority and format", choices: authorityExports.map(({ type }) => type), required: true },
        { flags: "--hosts <patterns>", text: "host names of the line; default *.<cluster>", multiple: true },
        { flags: "--fingerprint <print>", text: "only the key of this fingerprint: SHA256:… as printed by ssh-keygen -l, or sha256:… of a CA pin" },
      ],
      examples: ["tctl auth export --type=host >> ~/.ssh/known_hosts", "tctl auth export --type=user > /etc/ssh/user_ca.pub"],
      run: async (call) => (await import("../authorities.ts")).exportAuthority(call),
    }),
    connected({
      name: "sign",
      summary: "make keys and certificates for a machine's user, or for an OpenSSH host",
      details:
        "Make keys and certificates for a machine's user, or for a host without an agent. The private keys are made here and go nowhere else; only their owner can read the files.\n  file      one identity file, for tsh -i and tctl -i\n  openssh   OUT and OUT-cert.pub, for ssh -i, or for HostKey and HostCertificate of sshd\n  tls       OUT.key, OUT.crt, OUT.cas\nFor a database server, --format=db (PostgreSQL), mysql, mongodb or redis with --host writes its key and certificate and the authorities of\nits clients, and prints the server's settings.",
      options: [
        { flags: "--user <name>", text: "user whose roles and logins the certificates carry" },
        { flags: "--host <names>", text: "names of a host without an agent, separated by commas", multiple: true },
        { flags: "--out <file>", text: "path to write to", required: true },
        { flags: "--ttl <duration>", text: "requested validity; default 12h, for a host 1 year; a user's roles may allow less" },
        {
          flags: "--format <format>",
          text: "files to write; default: file, for a host openssh",
          choices: ["file", "openssh", "tls", "db", "mysql", "mongodb", "redis"],
        },
        { flags: "--only <kind/name>", text: "one resource: the certificate is good for nothing else, not for SSH either" },
        { flags: "--db-user <account>", text: "with --only=db/<name>: the only account there, as the proxy's ports for database clients require" },
        { flags: "--overwrite", text: "replace existing files" },
      ],
      examples: [
        "tctl auth sign --user=robot --ttl=8h --out=robot.id && tsh -i robot.id --proxy=example.com:443 ls",
        "tctl auth sign --user=robot --only=app/orders --out=orders.id && tsh -i orders.id --proxy=example.com:443 proxy app orders",
        "tctl auth sign --user=robot --format=openssh --out=robot && ssh -i robot deploy@web-1.example.com",
        "tctl auth sign --host=legacy-1 --out=/etc/ssh/ssh_host_platform",
        "tctl auth sign --format=db --host=db-1.internal,10.0.0.5 --ttl=2190h --out=server",
      ],
      run: async (call) => (await import("../auth-sign.ts")).signAuth(call),
    }),
    remote({
      name: "rotate",
      summary: "replace the keys of an authority, phase by phase",
      details:
        "Replace the keys of an authority. Without --phase and --manual the whole rotation runs automatically over the grace period.\n  init             makes the new key; everything learns it, the old one signs\n  update_clients   a user authority signs with the new key; users log in and learn a host authority's new key\n  update_servers   a host authority signs with the new key, and hosts and proxies get new certificates\n  standby          ends the rotation: certificates of the other key are refused from now on\n  rollback         the old key signs again\nThe servers of databases and applications learn nothing by themselves: each step of db, db_client and jwt says what they need.",
      options: [
        { flags: "--type <type>", text: "authority to rotate", choices: [...authorityNames, "db-client"] },
        {
          flags: "--phase <phase>",
          text: "the next phase of a manual rotation",
          choices: ["init", "update_clients", "update_servers", "standby", "rollback"],
        },
        { flags: "--grace-period <duration>", text: "duration of an automatic rotation; default 30h, the longest login" },
        { flags: "--manual", text: "rotate manually from now on; without --phase it starts with init" },
      ],
      examples: ["tctl auth rotate --type=user", "tctl auth rotate --type=host --manual --phase=init", "tctl auth rotate status"],
      run: async (call) => (await import("../authorities.ts")).rotateAuthority(call),
      commands: [
        remote({
          name: "status",
          summary: "show the phase of each authority and its keys",
          run: async (call) => (await import("../authorities.ts")).rotationStatus(call),
        }),
      ],
    }),
  ],
};
