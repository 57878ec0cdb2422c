/** Whether a text in YAML has comments, as far as its lines show: a `#` at a line's beginning or after a space, outside of quotes. Pure. */
export function hasComment(yaml: string): boolean {
  return yaml.split("\n").some((line) => /(?:^|\s)#/.test(line.replaceAll(/"(?:[^"\\]|\\.)*"|'[^']*'/g, '""')));
}
