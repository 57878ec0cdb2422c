/**
 * Field of the answers by which an agent itself refuses a request to a Kubernetes cluster: the code of its error. Agents drop it from what API servers answer,
 * so that it is theirs alone.
 */
export const refusalHeader = "platform-refusal";
