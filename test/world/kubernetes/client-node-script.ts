/**
 * A program that uses `@kubernetes/client-node`, whose module's URL is its first argument, as others write theirs: in the namespace of its second one, which has a
 * pod `shell`, it gets, lists, watches, runs a command and forwards a port. It prints a line for each.
 */
export const clientNodeCalls = `
const [library, namespace] = process.argv.slice(2);
const { CoreV1Api, Exec, KubeConfig, PortForward, Watch } = await import(library);
const { PassThrough } = await import("node:stream");
const config = new KubeConfig();
config.loadFromDefault();
const api = config.makeApiClient(CoreV1Api);
const { items } = await api.listNamespacedPod({ namespace });
console.log("list", ...items.map(({ metadata }) => metadata.name));
console.log("get", (await api.readNamespacedPod({ namespace, name: "shell" })).status.phase);

const names = ["node-a", "node-b"];
const seen = [];
const watched = Promise.withResolvers();
const onEvent = (type, { metadata: { name } }) => {
  if (names.includes(name)) seen.push(type + " " + name);
  if (seen.length === names.length) watched.resolve();
};
const watching = await new Watch(config).watch("/api/v1/namespaces/" + namespace + "/configmaps", {}, onEvent, watched.reject);
for (const name of names) await api.createNamespacedConfigMap({ namespace, body: { metadata: { name } } });
await watched.promise;
watching.abort();
console.log("watch", ...seen);

const [out, err] = [new PassThrough(), new PassThrough()];
const status = await new Promise((resolve, reject) => {
  const command = ["sh", "-c", "echo out; echo err >&2; exit 3"];
  new Exec(config).exec(namespace, "shell", "main", command, out, err, null, false, resolve).catch(reject);
});
const text = async (stream) => (await stream.toArray()).join("").trim();
console.log("exec", await text(out), await text(err), status.details.causes[0].message);

const [request, answer] = [new PassThrough(), new PassThrough()];
await new PortForward(config).portForward(namespace, "shell", [8080], answer, null, request);
request.write("GET /hello HTTP/1.0\\r\\n\\r\\n");
for await (const chunk of answer) if (String(chunk).includes("hello")) break;
console.log("forward hello");
process.exit(0);
`;
