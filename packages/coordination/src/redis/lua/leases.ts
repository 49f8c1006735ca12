// Each begins: ARGV = base, settings (events to keep, bytes of them, what a request with a key
// asks for), partition.

import { LOCKS } from './locks.ts';
import { PARTITION, REMEMBER, recall } from './partition.ts';

const BEGIN = `${PARTITION}${LOCKS}
open(ARGV[3])
settle()
local L = library()
`;

/** Is the lease or the place that was given still there? A ticket ends with its resource. */
const IS_ALIVE = `
local function isAlive(reply)
  if reply[1] == 'lease' then
    local lease = cjson.decode(reply[2])
    return L.find(L.leases(lease.resource), 'token', lease.token)
  end
  local resource = string.match(reply[2], '^%d+:(.*)$')
  return L.find(L.places(resource), 'ticket', reply[2])
    or L.find(L.leases(resource), 'ticket', reply[2])
end
`;

/** Then resource, holder, mode, ttl, wait, priority. */
export const ACQUIRE = `${BEGIN}
${IS_ALIVE}${recall('isAlive(answer.reply)')}
local wanted = {
  resource = ARGV[4], holder = ARGV[5], mode = ARGV[6], ttlMs = tonumber(ARGV[7]),
}
local resource, waitMs, priority = ARGV[4], tonumber(ARGV[8]), tonumber(ARGV[9])
local leases = L.leases(resource)
local reply
if L.isFree(resource, leases, wanted.mode, priority) then
  reply = { 'lease', cjson.encode(L.grant(leases, wanted)) }
  L.setLeases(resource, leases)
elseif waitMs > 0 then
  local place = {
    ticket = text(nextNumber()) .. ':' .. resource, resource = resource, holder = wanted.holder,
    mode = wanted.mode, ttlMs = wanted.ttlMs, priority = priority,
    since = now, ['until'] = now + waitMs,
  }
  local places = L.places(resource)
  local position = #places + 1
  while position > 1 and L.mayOvertake(priority, places[position - 1]) do position = position - 1 end
  table.insert(places, position, place)
  L.setPlaces(resource, places)
  expect('w' .. place.ticket, place['until'])
  reply = { 'queued', place.ticket, position }
else
  save()
  return { 'held', cjson.encode(leases) }
end
${REMEMBER}
save()
return reply
`;

/** Then resource, token, ttl. */
export const RENEW = `${BEGIN}
local resource = ARGV[4]
local leases = L.leases(resource)
local lease = leases[L.find(leases, 'token', tonumber(ARGV[5])) or 0]
if lease then
  L.renew(lease, tonumber(ARGV[6]))
  L.setLeases(resource, leases)
end
save()
return lease and cjson.encode(lease) or false
`;

/** Then resource, token. */
export const RELEASE = `${BEGIN}
local resource, token = ARGV[4], tonumber(ARGV[5])
local reply = { #L.takeLeases(resource, function(lease) return lease.token == token end) }
if reply[1] == 1 then L.grantWaiting(resource, reply) end
save()
return reply
`;

/** Then resource, token or ''. */
export const BREAK_LEASE = `${BEGIN}
local resource, token = ARGV[4], tonumber(ARGV[5])
local broken = L.takeLeases(resource, function(lease) return not token or lease.token == token end)
for _, lease in ipairs(broken) do L.tellLost(lease, 'broken') end
local reply = { broken[1] and 1 or 0 }
if broken[1] then L.grantWaiting(resource, reply) end
save()
return reply
`;

/** Then ticket. */
export const CANCEL_WAIT = `${BEGIN}
local ticket = ARGV[4]
local resource = string.match(ticket, '^%d+:(.*)$')
local isMeant = function(place) return place.ticket == ticket end
local cancelled = resource and #L.takePlaces(resource, isMeant) or 0
if cancelled == 1 then L.grantWaiting(resource) end
save()
return cancelled
`;

export const DROP = `${PARTITION}
open(ARGV[3])
if not P.isNew then forget() end
return 1
`;

/** Instead of a partition: how many at most. Says how many; none stays due, whatever happened. */
export const TICK = `${PARTITION}${LOCKS}
local due = call('ZRANGEBYSCORE', base .. 'due', '-inf', now, 'LIMIT', 0, ARGV[3])
for _, name in ipairs(due) do
  open(name)
  settle()
  P.due, P.isChanged, P.hasNewTimers = false, true, true
  save()
end
return #due
`;
