{{/* The environment of {root, component}: where the chart decides, and `settings` as they are. */}}
{{- define "acmery.env" -}}
{{- $root := .root -}}
{{- $v := $root.Values -}}
{{- if and (not $v.database.existingSecret) (not $v.database.url) }}
{{- fail "\n\nA Postgres database is needed: set database.existingSecret (and database.key) to a Secret that holds its URL, as CloudNativePG's <cluster>-app does under the key `uri`; or set database.url." }}
{{- end }}
- name: DATABASE_URL
  valueFrom:
    secretKeyRef:
      name: {{ default (printf "%s-database" (include "acmery.fullname" $root)) $v.database.existingSecret }}
      key: {{ $v.database.key }}
- name: POD_NAMESPACE
  valueFrom:
    fieldRef:
      fieldPath: metadata.namespace
- name: POD_NAME
  valueFrom:
    fieldRef:
      fieldPath: metadata.name
- name: ACMERY_ROLES
  value: {{ .component.roles | join "," }}
- name: ACMERY_PUBLIC_URL
  value: {{ include "acmery.publicUrl" $root | quote }}
- name: ACMERY_HTTP_URL
  value: {{ include "acmery.httpUrl" $root | quote }}
- name: ACMERY_TLS_NAMES
  value: {{ include "acmery.tlsNames" $root | quote }}
{{- if $v.tls.existingSecret }}
- name: ACMERY_TLS_CERT_FILE
  value: /etc/acmery/tls/tls.crt
- name: ACMERY_TLS_KEY_FILE
  value: /etc/acmery/tls/tls.key
{{- end }}
{{- if $v.bootstrapToken.existingSecret }}
- name: ACMERY_BOOTSTRAP_TOKEN
  valueFrom:
    secretKeyRef:
      name: {{ $v.bootstrapToken.existingSecret }}
      key: {{ $v.bootstrapToken.key }}
{{- end }}
{{- with $v.caNamespaces }}
- name: ACMERY_CA_NAMESPACES
  value: {{ join "," . | quote }}
{{- end }}
{{- if $v.watchNamespaces }}
- name: ACMERY_WATCH_NAMESPACES
  value: {{ (include "acmery.watchedNamespaces" $root | fromJson).namespaces | join "," }}
{{- end }}
{{- if $v.certManager.injection }}
- name: ACMERY_CERT_MANAGER_INJECTION
  value: "on"
{{- end }}
{{- if $v.secrets.watch }}
- name: ACMERY_SECRETS_WATCH
  value: "on"
{{- end }}
{{- with $v.trustManager.namespace }}
- name: ACMERY_TRUST_NAMESPACE
  value: {{ . }}
{{- end }}
- name: ACMERY_DATA_DIR
  value: /var/lib/acmery
{{- range $listener, $port := dict "ACME" 8443 "API" 8444 "HTTP" 8080 "OPS" 9090 }}
- name: ACMERY_{{ $listener }}_LISTEN
  value: "[::]:{{ $port }}"
{{- end }}
- name: NODE_OPTIONS
  value: --max-old-space-size={{ include "acmery.heapMebibytes" .component.memory }}
{{- range $name, $value := $v.settings }}
- name: ACMERY_{{ $name | snakecase | upper }}
  value: {{ ternary (join "," $value) (toString $value) (kindIs "slice" $value) | quote }}
{{- end }}
{{- with $v.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* Three quarters of `512Mi` or `1Gi`; the rest is for what is not in Node's heap. */}}
{{- define "acmery.heapMebibytes" -}}
{{- $size := int (regexFind "^[0-9]+" .) -}}
{{- div (mul $size (ternary 1024 1 (hasSuffix "Gi" .)) 3) 4 -}}
{{- end -}}
