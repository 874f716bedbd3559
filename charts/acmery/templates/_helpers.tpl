{{/* Names, labels, images and addresses that several templates share. */}}

{{- define "acmery.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{/* What everything of this release is called; the longest suffix has 23 characters. */}}
{{- define "acmery.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- $name := include "acmery.name" . -}}
{{- if contains $name .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "acmery.selectorLabels" -}}
app.kubernetes.io/name: {{ include "acmery.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{/* Not app.kubernetes.io/managed-by=acmery: so is called what the program makes. */}}
{{- define "acmery.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{ include "acmery.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/part-of: acmery
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "acmery.image" -}}
{{- $image := .Values.image -}}
{{- if $image.digest -}}
{{- printf "%s@%s" $image.repository $image.digest -}}
{{- else -}}
{{- printf "%s:%s" $image.repository (default .Chart.AppVersion $image.tag) -}}
{{- end -}}
{{- end -}}

{{/* The Deployments: one with all roles, or one for each. JSON: {components: [{name, roles, replicas, memory, cpu, autoscaling}]}. */}}
{{- define "acmery.components" -}}
{{- $v := .Values -}}
{{- $components := list -}}
{{- if $v.roles.split -}}
{{- range $role := list "server" "worker" "operator" -}}
{{- $own := index $v.roles $role -}}
{{- $components = append $components (dict
      "name" $role "suffix" (printf "-%s" $role) "roles" (list $role)
      "replicas" $own.replicas
      "memory" (default $v.resources.memory $own.memory)
      "cpu" (default $v.resources.cpu $own.cpu)
      "autoscaled" (and $v.autoscaling.enabled (eq $role "server"))) -}}
{{- end -}}
{{- else -}}
{{- $components = list (dict
      "name" "all" "suffix" "" "roles" (list "server" "worker" "operator")
      "replicas" $v.replicaCount "memory" $v.resources.memory "cpu" $v.resources.cpu
      "autoscaled" $v.autoscaling.enabled) -}}
{{- end -}}
{{- dict "components" $components | toJson -}}
{{- end -}}

{{/* Of {root, suffix}. */}}
{{- define "acmery.serviceAccountName" -}}
{{- $base := default (include "acmery.fullname" .root) .root.Values.serviceAccount.name -}}
{{- printf "%s%s" $base .suffix -}}
{{- end -}}

{{/* Of {root, role}: the ServiceAccounts of the Deployments that have the role, or any of them for "". */}}
{{- define "acmery.subjects" -}}
{{- $root := .root -}}
{{- $role := .role -}}
{{- range (include "acmery.components" $root | fromJson).components }}
{{- if or (eq $role "") (has $role .roles) }}
- kind: ServiceAccount
  name: {{ include "acmery.serviceAccountName" (dict "root" $root "suffix" .suffix) }}
  namespace: {{ $root.Release.Namespace }}
{{- end }}
{{- end }}
{{- end -}}

{{/* Whether the release has rights of the cluster beside those of its namespaces. */}}
{{- define "acmery.clusterWide" -}}
{{- if not .Values.watchNamespaces }}true{{ end -}}
{{- end -}}

{{- define "acmery.clusterRoles" -}}
{{- if kindIs "bool" .Values.rbac.clusterRoles -}}
{{- if .Values.rbac.clusterRoles }}true{{ end -}}
{{- else -}}
{{- include "acmery.clusterWide" . -}}
{{- end -}}
{{- end -}}

{{/* JSON: {namespaces: [...]}. CAs are declared in the namespace of the release, so that it is always one of them. */}}
{{- define "acmery.watchedNamespaces" -}}
{{- dict "namespaces" (concat (list .Release.Namespace) .Values.watchNamespaces | uniq | sortAlpha) | toJson -}}
{{- end -}}

{{- define "acmery.service" -}}
{{- printf "%s-%s.%s.svc" (include "acmery.fullname" .root) .door .root.Release.Namespace -}}
{{- end -}}

{{/* Of {scheme, host, port}: without the port that goes without saying. */}}
{{- define "acmery.url" -}}
{{- $usual := ternary 443 80 (eq .scheme "https") -}}
{{- printf "%s://%s%s" .scheme .host (ternary "" (printf ":%d" (int .port)) (eq (int .port) $usual)) -}}
{{- end -}}

{{- define "acmery.publicUrl" -}}
{{- default (include "acmery.url" (dict "scheme" "https" "host" (include "acmery.service" (dict "root" . "door" "acme")) "port" .Values.services.acme.port)) .Values.publicUrl -}}
{{- end -}}

{{- define "acmery.httpUrl" -}}
{{- default (include "acmery.url" (dict "scheme" "http" "host" (include "acmery.service" (dict "root" . "door" "http")) "port" .Values.services.http.port)) .Values.httpUrl -}}
{{- end -}}

{{/* Comma list. `{slug}` as the first label of the public host stands for any. */}}
{{- define "acmery.tlsNames" -}}
{{- $host := (urlParse (include "acmery.publicUrl" . | replace "{slug}" "slug-of-directory")).hostname | replace "slug-of-directory" "*" -}}
{{- $names := list $host "localhost" -}}
{{- range $door := list "acme" "api" -}}
{{- $service := printf "%s-%s" (include "acmery.fullname" $) $door -}}
{{- $names = concat $names (list $service (printf "%s.%s" $service $.Release.Namespace) (printf "%s.%s.svc" $service $.Release.Namespace)) -}}
{{- end -}}
{{- concat $names .Values.tls.names | uniq | join "," -}}
{{- end -}}
