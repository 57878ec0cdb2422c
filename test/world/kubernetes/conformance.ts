import { readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { NotHere } from "../not-here.ts";
import { output, run } from "../program.ts";

/* Kubernetes' own tests of its API: those that conformant clusters must pass, and that need no container image. */

const script = resolve(import.meta.dirname, "../../../scripts/kubernetes.sh");
const compileMs = 2_700_000;
const suiteMs = 2_400_000;

/** The test program of Kubernetes 1.20; it is compiled at its first use. Throws NotHere where that is not possible. */
export async function conformanceProgram(): Promise<string> {
  const built = await run(script, ["build", "conformance"], { limitMs: compileMs });
  if (built.status !== 0) throw new NotHere(built.stderr.trim());
  return join((await output(script, ["where", "conformance"])).trim(), "e2e.test");
}

export type SpecOutcome = "passed" | "failed";

export interface ConformanceRun {
  readonly program: string;
  readonly kubeconfig: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Where the report goes; each run has its own. */
  readonly folder: string;
}

/** Outcome by name of the specification, of those that ran. */
export async function runConformance({ program, kubeconfig, env = {}, folder }: ConformanceRun): Promise<ReadonlyMap<string, SpecOutcome>> {
  const args = [
    ...["--provider=local", `--kubeconfig=${kubeconfig}`, `--report-dir=${folder}`, "--allowed-not-ready-nodes=10", "--ginkgo.noColor"],
    ...[`--ginkgo.focus=${focus}`, `--ginkgo.skip=${skip}`],
  ];
  const { stdout, stderr } = await run(program, args, { env, limitMs: suiteMs });
  const report = await readFile(join(folder, "junit_01.xml"), "utf8").catch(() => {
    throw new Error(`no report of Kubernetes' tests: ${stdout.slice(-2000)}${stderr.slice(-2000)}`);
  });
  return readReport(report);
}

const areas = [
  String.raw`\[sig-api-machinery\]`,
  String.raw`\[sig-instrumentation\] Events`,
  "CSR API operations",
  "lifecycle of a ServiceAccount",
  "Ingress(Class)? API operations",
  "lifecycle of an Endpoint",
  "a service from listing all namespaces",
  "PriorityClass endpoints",
  "create a LimitRange",
  "lifecycle of a ConfigMap",
  "patch a secret",
  "lease API",
  "lifecycle of PodTemplates",
];
const focus = String.raw`(${areas.join("|")}).*\[Conformance\]`;
/** They start servers from images of the internet. */
const skip = "webhook|Webhook|Aggregator";

function readReport(xml: string): ReadonlyMap<string, SpecOutcome> {
  const outcomes = new Map<string, SpecOutcome>();
  for (const [, name = "", rest = ""] of xml.matchAll(/<testcase name="([^"]*)"([\s\S]*?)(?=<testcase |<\/testsuite>)/g)) {
    if (!rest.includes("<skipped")) outcomes.set(name, rest.includes("<failure") ? "failed" : "passed");
  }
  return outcomes;
}
