// ARGV: base, settings (events to keep, bytes of them, what a request with a key
// asks for), partition, then two of the script's own, then the
// commit: version it expects or '', event or '', number of keys whose versions it expects, those as
// key and version, then writes as kind, key and three values.

import { LOCKS } from './locks.ts';
import { PARTITION, REMEMBER, recall } from './partition.ts';

const BEGIN = `${PARTITION}${LOCKS}
open(ARGV[3])
settle()
${recall('true')}
`;

/** Ends the script if the commit is refused; else all of it is written. */
const APPLY = `
local data = base .. 'd:' .. P.name
local ifVersion, event, ifKeys = ARGV[6], ARGV[7], tonumber(ARGV[8])
local firstWrite = 9 + 2 * ifKeys
local refusal = ifVersion ~= '' and tonumber(ifVersion) ~= P.version and 'conflict'
for index = 9, firstWrite - 1, 2 do
  local entry = call('HGET', data, ARGV[index])
  local version = entry and string.match(entry, '^%d+') or 0
  if tonumber(version) ~= tonumber(ARGV[index + 1]) then refusal = 'conflict' end
end

local sums
for index = firstWrite, #ARGV, 5 do
  if ARGV[index] == 'increment' and not refusal then
    local entry = call('HGET', data, ARGV[index + 1]) or '0 0 0'
    local expiresAt, json = string.match(entry, '^%d+ (%d+) (.*)$')
    local before = string.find(json, '^%-?%d') and tonumber(json)
    local by = tonumber(ARGV[index + 2])
    local sum = before and before + by
    local isLost = by ~= 0 and sum == before
    if not sum or isLost or not (math.abs(sum) <= ${Number.MAX_SAFE_INTEGER}) then
      refusal = 'not_a_number'
    else
      sums = sums or {}
      sums[index] = expiresAt .. ' ' .. (sum == 0 and '0' or string.format('%.17g', sum))
    end
  end
end

if refusal then
  local current = { refusal, P.version }
  local function add(key)
    local entry = call('HGET', data, key)
    if not entry then return end
    table.insert(current, key)
    table.insert(current, entry)
  end
  for index = firstWrite, #ARGV, 5 do add(ARGV[index + 1]) end
  if refusal == 'conflict' then
    for index = 9, firstWrite - 1, 2 do add(ARGV[index]) end
  end
  save()
  return current
end

P.isChanged = true
P.version = P.version + 1
local version = text(P.version)
for index = firstWrite, #ARGV, 5 do
  local kind, key, ttl, onExpire = ARGV[index], ARGV[index + 1], ARGV[index + 3], ARGV[index + 4]
  local expiresAt = '0'
  if kind == 'increment' then
    P.isFilled = true
    call('HSET', data, key, version .. ' ' .. sums[index])
  elseif ttl ~= '' then
    expiresAt = text(now + tonumber(ttl))
    expect('k' .. key, expiresAt)
    if onExpire == '' then call('HDEL', base .. 'x:' .. P.name, key)
    else call('HSET', base .. 'x:' .. P.name, key, onExpire) end
  elseif unexpect('k' .. key) then
    call('HDEL', base .. 'x:' .. P.name, key)
  end
  if kind == 'put' then
    P.isFilled = true
    call('HSET', data, key, version .. ' ' .. expiresAt .. ' ' .. ARGV[index + 2])
  elseif kind == 'delete' then
    call('HDEL', data, key)
  end
end
if event ~= '' then append(event) end
`;

/** Its own: resource and token of the fence, or '' and ''. */
export const COMMIT = `${BEGIN}
local resource, token = ARGV[4], tonumber(ARGV[5])
if token then
  local mayWrite = false
  for _, lease in ipairs(cjson.decode(call('HGET', base .. 'l:' .. P.name, resource) or '[]')) do
    if lease.token == token and lease.mode == 'exclusive' then mayWrite = true end
  end
  if not mayWrite or token < tonumber(call('HGET', P.meta, 'mark:' .. resource) or 0) then
    save()
    return { 'fenced' }
  end
end
${APPLY}
local reply = { 'ok', P.version }
${REMEMBER}
save(token and resource, token)
return reply
`;

/** Its own: resource, priority. */
export const ACQUIRE_AND_COMMIT = `${BEGIN}
local resource = ARGV[4]
if call('HEXISTS', base .. 'l:' .. P.name, resource) == 1 then
  local L = library()
  local leases = L.leases(resource)
  if not L.isFree(resource, leases, 'exclusive', tonumber(ARGV[5])) then
    save()
    return { 'held', cjson.encode(leases) }
  end
end
${APPLY}
local token = nextNumber()
local reply = { 'ok', P.version, text(token) }
${REMEMBER}
save(resource, token)
return reply
`;
