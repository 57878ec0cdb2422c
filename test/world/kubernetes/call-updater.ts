import { inCluster } from "../../../core/kubernetes/in-cluster.ts";
import { createLog } from "../../../core/log/log.ts";
import { parseKubeSettings } from "../../../updater/kube/kube-settings.ts";
import { serveController } from "../../../updater/kube/serve-controller.ts";

/* call-updater.ts FOLDER FLAG…: the controller as a process of its own, which a test can kill, with the service account of a folder. */

const [folder = "", ...flags] = process.argv.slice(2);
const { signal } = new AbortController();
const log = createLog({ level: "info", format: "json", write: (line) => process.stderr.write(line) });
void inCluster(process.env, { folder }).then((pod) => serveController(parseKubeSettings(flags), { pod, env: {}, log, signal }));
