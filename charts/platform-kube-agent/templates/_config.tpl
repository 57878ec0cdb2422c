{{/* The configuration file, without the values of platformConfig. */}}
{{- define "agent.ownConfig" -}}
version: v3
platform:
  data_dir: /var/lib/platform
  proxy_server: {{ .Values.proxyAddr | quote }}
  {{- if eq (include "agent.joinMethod" .) "kubernetes" }}
  join_params:
    method: kubernetes
    token_name: {{ .Values.joinParams.tokenName | quote }}
  {{- else }}
  auth_token: /etc/platform-join/auth-token
  {{- end }}
  {{- with .Values.caPin }}
  ca_pin:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  log:
    output: stderr
    severity: {{ .Values.log.level | quote }}
    format:
      output: {{ .Values.log.format | quote }}
{{- if include "agent.hasRole" (list . "kube") }}
kubernetes_service:
  enabled: true
  {{- with .Values.kubeClusterName }}
  kube_cluster_name: {{ . | quote }}
  {{- end }}
  {{- with .Values.labels }}
  labels:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.kubeResources }}
  resources:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}
{{- if include "agent.hasRole" (list . "app") }}
app_service:
  enabled: true
  {{- with .Values.apps }}
  apps:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.appResources }}
  resources:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}
{{- if include "agent.hasRole" (list . "db") }}
db_service:
  enabled: true
  {{- with .Values.databases }}
  databases:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.databaseResources }}
  resources:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}
{{- end -}}

{{- define "agent.config" -}}
{{- $own := include "agent.ownConfig" . | fromYaml -}}
{{- mustMergeOverwrite $own (deepCopy .Values.platformConfig) | toYaml -}}
{{- end -}}
