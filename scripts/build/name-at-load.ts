/** How esbuild (keepNames) writes its function that gives a function its name. */
const naming = /([\w$]+)=(\(([\w$]+),([\w$]+)\)=>[\w$]+\(\3,"name",\{value:\4,configurable:!0\}\))/g;

/**
 * What a bundle made with keepNames names while it is loaded keeps its name, and so do all classes; closures that are made later get none.
 * Giving one a name makes V8 keep its properties in a dictionary of 256 bytes: with a dozen or more for each connection that
 * came to several KiB, and to time for each call that makes one. Throws where esbuild writes something else.
 */
export function nameAtLoad(bundle: string): string {
  const [found, ...more] = bundle.matchAll(naming);
  if (found === undefined || more.length > 0) throw new Error("the bundle does not name its functions as expected (esbuild: keepNames)");
  const [whole, name = "", body = ""] = found;
  const named = bundle.replace(whole, () => `$nameClass=${body},${name}=$nameClass`);
  return `${named.replaceAll(`static{${name}(this,`, () => "static{$nameClass(this,")}\n${name}=made=>made;`;
}
