-- How Argo CD reads the conditions of Acmery's kinds. Ready=False alone is no failure: what it waits for may come in the same sync.
local status = obj.status or {}
local conditions = {}
for _, condition in ipairs(status.conditions or {}) do
  conditions[condition.type] = condition
end
local function isTrue(name)
  return conditions[name] ~= nil and conditions[name].status == "True"
end
local function message(name, otherwise)
  return conditions[name] ~= nil and conditions[name].message or otherwise
end

if obj.metadata.deletionTimestamp ~= nil then
  return { status = "Progressing", message = message("Ready", "It is being deleted.") }
end
if isTrue("Paused") then
  return { status = "Suspended", message = message("Paused") }
end
if status.observedGeneration ~= obj.metadata.generation then
  return { status = "Progressing", message = "It has not been looked at since it was changed." }
end
if isTrue("Stalled") then
  return { status = "Degraded", message = message("Stalled") }
end
if isTrue("Reconciling") then
  return { status = "Progressing", message = message("Reconciling") }
end
if isTrue("Ready") then
  return { status = "Healthy", message = message("Ready") }
end
return { status = "Progressing", message = message("Ready", "It has not been looked at yet.") }
