{{- define "agent.name" -}}
{{- .Values.fullnameOverride | default .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- end -}}

{{- define "agent.updaterName" -}}
{{ include "agent.name" . }}-updater
{{- end -}}

{{- define "agent.serviceAccount" -}}
{{- .Values.serviceAccount.name | default (include "agent.name" .) -}}
{{- end -}}

{{- define "agent.updaterServiceAccount" -}}
{{- .Values.updater.serviceAccount.name | default (include "agent.updaterName" .) -}}
{{- end -}}

{{- define "agent.joinSecret" -}}
{{- .Values.joinTokenSecret.name | default (printf "%s-join-token" (include "agent.name" .)) -}}
{{- end -}}

{{- define "agent.sharedState" -}}
{{ include "agent.name" . }}-shared-state
{{- end -}}

{{/* Names of the Secrets with the pods' identities, as a JSON list. */}}
{{- define "agent.stateSecrets" -}}
{{- $names := list -}}
{{- range $i := until (int .Values.highAvailability.replicaCount) -}}
{{- $names = append $names (printf "%s-%d-state" (include "agent.name" $) $i) -}}
{{- end -}}
{{- $names | toJson -}}
{{- end -}}

{{/* Labels that never change: those of selectors. */}}
{{- define "agent.selector" -}}
app.kubernetes.io/name: platform-kube-agent
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/component: agent
{{- end -}}

{{- define "agent.updaterSelector" -}}
app.kubernetes.io/name: platform-kube-agent
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/component: updater
{{- end -}}

{{/* Metadata of an object: (list $ kind-of-annotations name component). */}}
{{- define "agent.metadata" -}}
{{- $root := index . 0 -}}{{- $kind := index . 1 -}}{{- $name := index . 2 -}}{{- $component := index . 3 -}}
name: {{ $name | quote }}
labels:
  app.kubernetes.io/name: platform-kube-agent
  app.kubernetes.io/instance: {{ $root.Release.Name | quote }}
  app.kubernetes.io/component: {{ $component }}
  app.kubernetes.io/managed-by: {{ $root.Release.Service | quote }}
  app.kubernetes.io/version: {{ $root.Chart.AppVersion | quote }}
  helm.sh/chart: {{ printf "%s-%s" $root.Chart.Name $root.Chart.Version | replace "+" "_" | quote }}
  {{- with index $root.Values.extraLabels $kind }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end -}}

{{- define "agent.annotations" -}}
{{- $root := index . 0 -}}
{{- with index $root.Values.annotations (index . 1) }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "agent.hasRole" -}}
{{- $root := index . 0 -}}
{{- $roles := list -}}
{{- range splitList "," $root.Values.roles }}{{- $roles = append $roles (trim .) -}}{{- end -}}
{{- if has (index . 1) $roles }}true{{- end -}}
{{- end -}}

{{- define "agent.joinMethod" -}}
{{- if .Values.authToken -}}token{{- else -}}{{ .Values.joinParams.method }}{{- end -}}
{{- end -}}

{{- define "agent.repository" -}}
{{- .Values.image.repository | default (printf "%s/platform-ent" (required "proxyAddr is required: the public address of the cluster's proxy, host:port" .Values.proxyAddr)) -}}
{{- end -}}

{{/* The image. With the updater, a running version newer than the chart's stays, where the cluster can be asked (not in helm template). */}}
{{- define "agent.image" -}}
{{- $repository := include "agent.repository" . -}}
{{- if .Values.image.digest -}}
{{ $repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}@{{ .Values.image.digest }}
{{- else if .Values.image.tag -}}
{{ $repository }}:{{ .Values.image.tag }}
{{- else -}}
{{- $image := printf "%s:%s" $repository .Chart.AppVersion -}}
{{- if .Values.updater.enabled -}}
{{- $live := lookup "apps/v1" "StatefulSet" .Release.Namespace (include "agent.name" .) | default dict -}}
{{- range (dig "spec" "template" "spec" "containers" list $live) -}}
{{- if and (eq .name "platform") (hasPrefix (printf "%s:" $repository) .image) -}}
{{- $tag := .image | trimPrefix (printf "%s:" $repository) | splitList "@" | first -}}
{{- if regexMatch "^[0-9]+\\.[0-9]+\\.[0-9]+(-[0-9A-Za-z.-]+)?$" $tag -}}
{{- if gt ((semver $tag).Compare (semver $.Chart.AppVersion)) 0 -}}{{- $image = .image -}}{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{ $image }}
{{- end -}}
{{- end -}}

{{/* The controller's image is always the chart's. */}}
{{- define "agent.updaterImage" -}}
{{- $repository := include "agent.repository" . -}}
{{ $repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}{{ with .Values.image.digest }}@{{ . }}{{ end }}
{{- end -}}

{{/* What agent and updater share in their pods. */}}
{{- define "agent.podSettings" -}}
{{- with .Values.podSecurityContext }}
securityContext:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.hostAliases }}
hostAliases:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.dnsConfig }}
dnsConfig:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.dnsPolicy }}
dnsPolicy: {{ . }}
{{- end }}
{{- with .Values.priorityClassName }}
priorityClassName: {{ . | quote }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "agent.caEnv" -}}
{{- with .Values.tls.existingCASecretName }}
- name: SSL_CERT_FILE
  value: /etc/platform-ca/ca.pem
{{- end }}
{{- end -}}

{{- define "agent.caVolume" -}}
{{- with .Values.tls.existingCASecretName }}
- name: ca
  secret:
    secretName: {{ . | quote }}
    items:
      - key: {{ $.Values.tls.existingCASecretKeyName | quote }}
        path: ca.pem
{{- end }}
{{- end -}}

{{- define "agent.caMount" -}}
{{- with .Values.tls.existingCASecretName }}
- name: ca
  mountPath: /etc/platform-ca
  readOnly: true
{{- end }}
{{- end -}}

{{/* Mode of mounted secrets: for the group that the kubelet gives them, if there is one, since the program does not run as root. */}}
{{- define "agent.secretMode" -}}
{{- if (.Values.podSecurityContext | default dict).fsGroup }}0440{{ else }}0444{{ end -}}
{{- end -}}

{{- define "agent.check" -}}
{{- if not (regexMatch "^[a-z]([-a-z0-9]*[a-z0-9])?$" (include "agent.name" .)) }}{{- fail (printf "the name %q cannot be that of a Service: it begins with a letter, and has small letters, digits and dashes; set fullnameOverride" (include "agent.name" .)) }}{{- end }}
{{- $roles := splitList "," .Values.roles -}}
{{- range $roles }}{{- if not (has (trim .) (list "kube" "app" "db")) }}{{- fail (printf "roles: %q is none of kube, app, db" (trim .)) }}{{- end }}{{- end }}
{{- if not (regexMatch "^.+:[0-9]+$" .Values.proxyAddr) }}{{- fail "proxyAddr is required: the public address of the cluster's proxy, host:port" }}{{- end }}
{{- if and (include "agent.hasRole" (list . "kube")) (not .Values.kubeClusterName) (not .Values.kubeResources) }}{{- fail "kubeClusterName is required with the role kube" }}{{- end }}
{{- if and (include "agent.hasRole" (list . "app")) (not .Values.apps) (not .Values.appResources) }}{{- fail "the role app needs apps or appResources" }}{{- end }}
{{- if and (include "agent.hasRole" (list . "db")) (not .Values.databases) (not .Values.databaseResources) }}{{- fail "the role db needs databases or databaseResources" }}{{- end }}
{{- if .Values.updater.enabled }}
{{- if ne (toString .Values.enterprise) "true" }}{{- fail "updater.enabled needs `enterprise: true`: automatic updates are for the Enterprise edition" }}{{- end }}
{{- if not .Values.updater.publicKeys }}{{- fail "updater.publicKeys is required: the publisher's public key, with which images are verified (--set-file updater.publicKeys=FILE)" }}{{- end }}
{{- end }}
{{- if eq (include "agent.joinMethod" .) "kubernetes" }}
{{- if not .Values.joinParams.tokenName }}{{- fail "joinParams.tokenName is required: the name of the token resource" }}{{- end }}
{{- if not .Values.platformClusterName }}{{- fail "platformClusterName is required with joinParams.method=kubernetes: `tctl status` prints it" }}{{- end }}
{{- end }}
{{- if and (eq (include "agent.joinMethod" .) "token") .Values.joinTokenSecret.create .Release.IsInstall (not .Values.authToken) (not .Values.joinParams.tokenName) }}{{- fail "authToken is required: `tctl tokens add --type=kube` makes one; or joinTokenSecret.create=false with a Secret of your own, or joinParams.method=kubernetes" }}{{- end }}
{{- end -}}
