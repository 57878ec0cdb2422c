/* Programs with informers. They print a line for each object that they are given, and `again` when they connect again. */

/** NAMESPACE COUNT: an informer of its ConfigMaps with the label \`app=informer\`, until COUNT were added after the list. */
export const clientNodeInformer = `
const [library, namespace, count] = process.argv.slice(2);
const { CoreV1Api, KubeConfig, makeInformer } = await import(library);
const { setTimeout: sleep } = await import("node:timers/promises");
const config = new KubeConfig();
config.loadFromDefault();
const api = config.makeApiClient(CoreV1Api);
const labelSelector = "app=informer";
const list = () => api.listNamespacedConfigMap({ namespace, labelSelector });
const informer = makeInformer(config, "/api/v1/namespaces/" + namespace + "/configmaps", list, labelSelector);
let left = Number(count) + 1;
let connects = 0;
informer.on("connect", () => (connects += 1) > 1 && console.log("again"));
informer.on("add", ({ metadata }) => {
  console.log(left > Number(count) ? "listed" : "ADDED", metadata.name);
  left -= 1;
  if (left === 0) process.exit(0);
});
// Its own advice: an informer that has failed is started again.
informer.on("error", () => void sleep(200).then(() => informer.start()));
await informer.start();
`;

/** NAMESPACE COUNT: the same with python3-kubernetes, which has no informer: lists once, and then watches from the last version that it has seen. */
export const pythonInformer = `
import sys, time
from kubernetes import client, config, watch
config.load_kube_config()
read = client.CoreV1Api().list_namespaced_config_map
ns, count = sys.argv[1], int(sys.argv[2])
listed = read(ns, label_selector="app=informer")
print("listed", *[one.metadata.name for one in listed.items], flush=True)
version, end = listed.metadata.resource_version, time.time() + 120
while count > 0 and time.time() < end:
    try:
        for event in watch.Watch().stream(read, ns, label_selector="app=informer", resource_version=version, timeout_seconds=30):
            version = event["object"].metadata.resource_version
            print(event["type"], event["object"].metadata.name, flush=True)
            count -= 1
            if count == 0:
                break
        else:
            print("again", flush=True)
    except Exception:
        print("again", flush=True)
        time.sleep(0.2)
`;
