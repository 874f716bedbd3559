{{/* What the operator does in every namespace that it watches. */}}
{{- define "acmery.operatorRules" -}}
# Specs are read and never written; patch is for the finalizer in the metadata.
- apiGroups: [acmery.io]
  resources: [signingcerts, directories, externalbindings, acmekeys]
  verbs: [get, list, watch, patch]
- apiGroups: [acmery.io]
  resources: [signingcerts/status, directories/status, externalbindings/status, acmekeys/status]
  verbs: [patch]
# RBAC cannot tell Secrets apart by label, so that they are read by name, and listed and watched only where that is asked for.
- apiGroups: [""]
  resources: [secrets]
  verbs: [get, create, patch, delete{{ if .Values.secrets.watch }}, list, watch{{ end }}]
# They go with their Directories.
- apiGroups: [""]
  resources: [configmaps]
  verbs: [get, create, patch]
- apiGroups: [events.k8s.io]
  resources: [events]
  verbs: [create, patch]
{{- if .Values.certManager.injection }}
- apiGroups: [cert-manager.io]
  resources: [issuers]
  verbs: [list, watch, patch]
{{- end }}
{{- end -}}
