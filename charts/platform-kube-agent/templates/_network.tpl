{{/* Port of an address, with or without scheme and path: (list address default). */}}
{{- define "agent.portOf" -}}
{{- $host := index . 0 | trim | regexFind "^([A-Za-z][A-Za-z0-9+.-]*://)?[^/?#]*" -}}
{{- $port := regexFind ":[0-9]+$" $host | trimPrefix ":" -}}
{{- $port | default (ternary "80" (ternary "443" (index . 1 | toString) (hasPrefix "https://" (lower $host))) (hasPrefix "http://" (lower $host))) -}}
{{- end -}}

{{/* Ports of the HTTP proxies that a container's environment names, as a JSON list. Values from elsewhere are not known here. */}}
{{- define "agent.proxyPorts" -}}
{{- $ports := list -}}
{{- range . -}}
{{- if and (has .name (list "HTTPS_PROXY" "https_proxy" "HTTP_PROXY" "http_proxy")) .value -}}
{{- $ports = append $ports (include "agent.portOf" (list .value 80)) -}}
{{- end -}}
{{- end -}}
{{- $ports | toJson -}}
{{- end -}}

{{/* What pods may reach: (list $ ports). */}}
{{- define "agent.egress" -}}
{{- $root := index . 0 -}}
- ports:
    - { protocol: UDP, port: 53 }
    - { protocol: TCP, port: 53 }
# The proxy, an HTTP proxy on the way to it, and of the updater the registry and the version server.
- ports:
    {{- range index . 1 | uniq }}
    - { protocol: TCP, port: {{ . }} }
    {{- end }}
- ports:
    {{- range $root.Values.networkPolicy.apiServerPorts }}
    - { protocol: TCP, port: {{ int . }} }
    {{- end }}
{{- with $root.Values.networkPolicy.extraEgress }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* Who may read metrics at a port: (list $ port). */}}
{{- define "agent.metricsIngress" -}}
{{- with (index . 0).Values.networkPolicy.metricsFrom -}}
ingress:
  - from:
      {{- toYaml . | nindent 6 }}
    ports:
      - { protocol: TCP, port: {{ index $ 1 }} }
{{- else -}}
# Nobody; the node's own probes are always allowed.
ingress: []
{{- end }}
{{- end -}}
