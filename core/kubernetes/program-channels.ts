/*
 * Streams of a program in a container over a WebSocket (k8s.io/apimachinery, wsstream): a message is
 *
 *   channel u8 | bytes        255 | channel closes one (v5)
 *
 * `error` has how the program ended (program-exit.ts), `resize` sizes of its terminal: {"Width":…,"Height":…}.
 */
export const programChannels = { stdin: 0, stdout: 1, stderr: 2, error: 3, resize: 4, closed: 255 } as const;
