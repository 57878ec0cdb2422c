import { chmod, open, rm } from "node:fs/promises";
import { isAbsolute, resolve } from "node:path";
import { parseConfig, problemsError } from "../../core/config/parse-config.ts";
import { errorText, PlatformError } from "../../core/errors/platform-error.ts";
import type { CommandSpec, Options } from "../command.ts";
import { editPrivateFile } from "../edit-private-file.ts";
import { type Result, textResult } from "../output.ts";
import { type ConfigWishes, configText, type Role, roles } from "./config-text.ts";

const defaultFile = "/etc/platform.yaml";

export const configureCommand: CommandSpec = {
  name: "configure",
  summary: "write a commented configuration file",
  details: "Writes a commented configuration file that `platform start` accepts.",
  options: [
    { flags: "-o, --output <where>", text: `stdout, file (${defaultFile}) or a path; default stdout` },
    { flags: "--force", text: "replace an existing file" },
    { flags: "--roles <roles>", text: "services to enable: auth, proxy, node; default auth,proxy, or node with --proxy" },
    { flags: "--nodename <name>", text: "name of this host in the cluster" },
    { flags: "--data-dir <folder>", text: "folder for state" },
    { flags: "--token <token>", text: "join token, or preferably the absolute path of a file that holds it" },
    { flags: "--ca-pin <pins>", text: "CA pin of the cluster; separate several with commas" },
    { flags: "--proxy <address>", text: "the proxy that an agent joins through" },
    { flags: "--auth-server <address>", text: "the auth service that a proxy on its own host joins" },
    { flags: "--cluster-name <name>", text: "name of the cluster" },
    { flags: "--public-addr <address>", text: "address where clients and agents reach the proxy" },
    { flags: "--cert-file <file>", text: "certificate chain for the web address" },
    { flags: "--key-file <file>", text: "its private key" },
    { flags: "--packages-dir <folder>", text: "package repositories for the proxy to serve, as written by `make repository`" },
    { flags: "--labels <labels>", text: "labels of this host: key=value, separated by commas" },
  ],
  examples: [
    "platform configure --output=file --cluster-name=example.com --public-addr=proxy.example.com:3080",
    "platform configure --output=file --proxy=proxy.example.com:3080 --token=/etc/platform.token --ca-pin=sha256:…",
  ],
  run: async ({ options }) => await configure(options),
};

async function configure(options: Options): Promise<Result> {
  const text = configText(wishes(options));
  const { problems } = parseConfig(text);
  if (problems.length > 0) throw problemsError("the file that these options make", problems);
  const where = options.text("output") ?? "stdout";
  if (where === "stdout") return textResult(text);
  const file = where === "file" ? defaultFile : resolve(where.replace(/^file:\/\//, ""));
  await writeFile(file, text, options.flag("force"));
  return { data: { file }, text: `wrote ${file}\nstart it with: ${startLine(file)}` };
}

/** The service reads the default file, which is part of the packages. */
function startLine(file: string): string {
  return file === defaultFile ? "systemctl enable --now platform" : `platform start --config ${file}`;
}

function wishes(options: Options): ConfigWishes {
  const [certFile, keyFile] = [options.text("certFile"), options.text("keyFile")];
  for (const path of [certFile, keyFile]) {
    if (path !== undefined && !isAbsolute(path)) throw new PlatformError("invalid", `${path} must be an absolute path`);
  }
  const packagesDir = options.text("packagesDir");
  if (packagesDir !== undefined && !isAbsolute(packagesDir)) throw new PlatformError("invalid", `${packagesDir} must be an absolute path`);
  if ((certFile === undefined) !== (keyFile === undefined)) throw new PlatformError("invalid", "--cert-file and --key-file must be given together");
  const named = options.list("roles");
  const proxy = options.text("proxy");
  return {
    roles: named.length > 0 ? named.map(parseRole) : proxy === undefined ? ["auth", "proxy"] : ["node"],
    nodename: options.text("nodename"),
    dataDir: options.text("dataDir"),
    token: options.text("token"),
    caPins: options.list("caPin"),
    proxy,
    authServer: options.text("authServer"),
    clusterName: options.text("clusterName"),
    publicAddr: options.text("publicAddr"),
    certFile,
    keyFile,
    packagesDir,
    labels: Object.fromEntries(options.list("labels").map(parseLabel)),
  };
}

function parseRole(text: string): Role {
  const role = roles.find((one) => one === text);
  if (role !== undefined) return role;
  // Roles of join tokens, whose services need names and addresses.
  const elsewhere = ["app", "db", "kube"].includes(text) ? `; tctl tokens add --type=${text} prints the file of a host with that service` : "";
  throw new PlatformError("invalid", `${JSON.stringify(text)} is not a role`, { hint: `roles are ${roles.join(", ")}${elsewhere}` });
}

function parseLabel(text: string): [string, string] {
  const at = text.indexOf("=");
  if (at < 1) throw new PlatformError("invalid", `${JSON.stringify(text)} is not a label`, { hint: "write it as key=value" });
  return [text.slice(0, at), text.slice(at + 1)];
}

/** The file may hold a token: only its owner may read it. A file that is replaced stays whole until the other one is. */
async function writeFile(file: string, text: string, replace: boolean): Promise<void> {
  if (!replace) return await writeNew(file, text);
  const isChanged = await editPrivateFile(file, () => Buffer.from(text).toString("latin1"));
  // With the same text, it may be readable by others still.
  if (!isChanged) await chmod(file, 0o600);
}

async function writeNew(file: string, text: string): Promise<void> {
  let isOurs = false;
  try {
    await using handle = await open(file, "wx", 0o600);
    isOurs = true;
    await handle.chmod(0o600);
    await handle.writeFile(text);
    await handle.sync();
  } catch (cause) {
    if (isOurs) await rm(file, { force: true }).catch(() => {});
    if ((cause as NodeJS.ErrnoException).code === "EEXIST") {
      throw new PlatformError("already_exists", `${file} already exists`, { hint: "--force replaces it", cause });
    }
    throw new PlatformError("unavailable", `could not write ${file}: ${errorText(cause)}`, { cause });
  }
}
