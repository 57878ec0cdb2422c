import { existsSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { NotHere } from "../not-here.ts";
import { output, run } from "../program.ts";

/* Kubernetes' own specs, which show whether a cluster conforms: those that need nothing of the internet, such as servers of its images. */

const script = resolve(import.meta.dirname, "../../../scripts/kubernetes.sh");

/** Path of e2e.test of Kubernetes 1.20. Throws NotHere where it has not been compiled. */
export async function conformanceProgram(): Promise<string> {
  const path = join((await output(script, ["where", "conformance"])).trim(), "e2e.test");
  if (!existsSync(path)) throw new NotHere("scripts/kubernetes.sh build conformance compiles e2e.test");
  return path;
}

/** Where the specs run, and with what. */
export interface SpecPlace {
  /** Path of e2e.test. */
  readonly program: string;
  /** Path of the kubectl that some specs run. */
  readonly kubectl: string;
  readonly kubeconfig: string;
  /** Of reports; each run has its own. */
  readonly folder: string;
}

/** A regular expression of Go's, of names of specs, for each process: these run side by side. */
export type SpecGroups = readonly string[];

export interface SpecOutcome {
  readonly state: "passed" | "failed";
  /** Of a failure; else empty. */
  readonly message: string;
}

/** Those that have run, by name. */
export type SpecOutcomes = ReadonlyMap<string, SpecOutcome>;

/** Outcomes of the specs that these expressions fit, without those that have skipped themselves. At most `limitMs`. */
export async function runSpecs(place: SpecPlace, groups: SpecGroups, limitMs: number): Promise<SpecOutcomes> {
  await mkdir(place.folder, { recursive: true });
  const images = join(place.folder, "images.yaml");
  await writeFile(images, ["dockerLibraryRegistry", "gcRegistry", "promoterE2eRegistry"].map((key) => `${key}: registry.test\n`).join(""));
  const all = await Promise.all(groups.map((focus, at) => runGroup(place, { focus, folder: join(place.folder, String(at)), images, limitMs })));
  return new Map(all.flat());
}

interface Group {
  readonly focus: string;
  readonly folder: string;
  /** Path of the list of registries. */
  readonly images: string;
  readonly limitMs: number;
}

async function runGroup({ program, kubectl, kubeconfig, folder }: SpecPlace, group: Group): Promise<readonly (readonly [string, SpecOutcome])[]> {
  const args = [
    ...["--provider=skeleton", `--kubeconfig=${kubeconfig}`, `--kubectl-path=${kubectl}`, `--report-dir=${group.folder}`],
    // The same order in each run.
    ...["--ginkgo.seed=1", "--ginkgo.noColor", "--disable-log-dump", `--ginkgo.focus=(${group.focus}).*\\[Conformance\\]`],
  ];
  const env = { KUBE_TEST_REPO_LIST: group.images, HOME: group.folder };
  const { stdout, stderr } = await run(program, args, { cwd: folder, env, limitMs: group.limitMs });
  await writeFile(`${group.folder}.log`, `${stdout}${stderr}`);
  const report = await readFile(join(group.folder, "junit_01.xml"), "utf8").catch(() => {
    throw new Error(`no report of Kubernetes' specs: ${stdout.slice(-2_000)}${stderr.slice(-2_000)}`);
  });
  return readReport(report);
}

/** All specs are in it, most of them as skipped. */
function readReport(xml: string): readonly (readonly [string, SpecOutcome])[] {
  return [...xml.matchAll(/<testcase name="([^"]*)"([\s\S]*?)<\/testcase>/g)].flatMap(([, name = "", rest = ""]) => {
    if (rest.includes("<skipped>")) return [];
    const [, message] = /<failure[^>]*>([\s\S]*?)<\/failure>/.exec(rest) ?? [];
    return [[name, { state: message === undefined ? "passed" : "failed", message: message ?? "" }]];
  });
}

/** Specs with another outcome in the second run than in the first, with both. */
export function differences(first: SpecOutcomes, second: SpecOutcomes): readonly string[] {
  const names = [...new Set([...first.keys(), ...second.keys()])];
  const stateIn = (outcomes: SpecOutcomes, name: string): string => outcomes.get(name)?.state ?? "skipped";
  return names
    .filter((name) => stateIn(first, name) !== stateIn(second, name))
    .map((name) => `${name}: ${stateIn(first, name)}, then ${stateIn(second, name)} ${(second.get(name) ?? first.get(name))?.message ?? ""}`);
}
