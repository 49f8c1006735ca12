// Leases and places as lists of JSON per resource, in the order of grants and of the queue; and what
// time alone changes, in the order the port promises: events of expired keys, lost leases, grants.

import { OVERTAKEN_FOR_MS } from '../../engine/lock-table.ts';

export const LOCKS = `
local function library()
  local L = {}
  local leasesKey, placesKey = base .. 'l:' .. P.name, base .. 'q:' .. P.name

  local function readList(hash, resource)
    local list = call('HGET', hash, resource)
    return list and cjson.decode(list) or {}
  end

  local function writeList(hash, resource, list)
    P.isChanged = true
    if #list == 0 then call('HDEL', hash, resource)
    else call('HSET', hash, resource, cjson.encode(list)) end
  end

  local function leaseTimer(lease) return 'l' .. text(lease.token) .. ':' .. lease.resource end
  local function placeTimer(place) return 'w' .. place.ticket end

  -- Any lease tells: it is the only one, or all are shared.
  local function isBlocked(leases, mode)
    return leases[1] and (mode == 'exclusive' or leases[1].mode == 'exclusive')
  end

  local function raiseAndAppend(event)
    P.isChanged = true
    P.version = P.version + 1
    append(event)
  end

  function L.find(list, field, value)
    for index, item in ipairs(list) do
      if item[field] == value then return index end
    end
  end

  function L.leases(resource) return readList(leasesKey, resource) end
  function L.setLeases(resource, leases) writeList(leasesKey, resource, leases) end
  function L.places(resource) return readList(placesKey, resource) end
  function L.setPlaces(resource, places) writeList(placesKey, resource, places) end

  -- No lease in the way, and no request to overtake; who waits, waits for a lease.
  function L.isFree(resource, leases, mode, priority)
    if isBlocked(leases, mode) then return false end
    if #leases == 0 then return true end
    for _, place in ipairs(L.places(resource)) do
      if not L.mayOvertake(priority, place) then return false end
    end
    return true
  end

  function L.mayOvertake(priority, place)
    return priority > place.priority and now - place.since < ${OVERTAKEN_FOR_MS}
  end

  function L.grant(leases, request)
    local lease = {
      resource = request.resource, holder = request.holder, mode = request.mode,
      token = nextNumber(), expiresAt = now + request.ttlMs, ticket = request.ticket,
    }
    table.insert(leases, lease)
    P.isFilled = true
    expect(leaseTimer(lease), lease.expiresAt)
    return lease
  end

  function L.renew(lease, ttlMs)
    lease.expiresAt = now + ttlMs
    expect(leaseTimer(lease), lease.expiresAt)
  end

  -- Serves the queue until its head has to wait, and adds the leases to the reply, if there is one.
  function L.grantWaiting(resource, reply)
    local places, leases, waiting = L.places(resource), L.leases(resource), {}
    for _, place in ipairs(places) do
      if waiting[1] or isBlocked(leases, place.mode) then
        table.insert(waiting, place)
      else
        unexpect(placeTimer(place))
        local lease = L.grant(leases, place)
        raiseAndAppend(cjson.encode({
          type = 'lock.granted', resource = resource, holder = lease.holder, token = lease.token,
          mode = lease.mode, expires_at = lease.expiresAt, ticket = lease.ticket,
        }))
        if reply then table.insert(reply, cjson.encode(lease)) end
      end
    end
    if #waiting == #places then return end
    L.setPlaces(resource, waiting)
    L.setLeases(resource, leases)
  end

  local function take(hash, resource, isMeant, timerOf)
    local taken, rest = {}, {}
    for _, item in ipairs(readList(hash, resource)) do
      table.insert(isMeant(item) and taken or rest, item)
    end
    if #taken > 0 then writeList(hash, resource, rest) end
    for _, item in ipairs(taken) do unexpect(timerOf(item)) end
    return taken
  end

  function L.takeLeases(resource, isMeant)
    return take(leasesKey, resource, isMeant, leaseTimer)
  end

  function L.takePlaces(resource, isMeant)
    return take(placesKey, resource, isMeant, placeTimer)
  end

  function L.tellLost(lease, reason)
    raiseAndAppend(cjson.encode({
      type = 'lock.lost', resource = lease.resource, holder = lease.holder, token = lease.token,
      mode = lease.mode, reason = reason,
    }))
  end

  local function expireKey(key)
    local events = base .. 'x:' .. P.name
    local event = call('HGET', events, key)
    call('HDEL', base .. 'd:' .. P.name, key)
    if not event then return end
    call('HDEL', events, key)
    raiseAndAppend(event)
  end

  -- Resources with places or leases among these timers, those with places first.
  local function resourcesOf(timers)
    local resources, isKnown = {}, {}
    for _, kind in ipairs({ 'w', 'l' }) do
      for _, timer in ipairs(timers) do
        local resource = string.match(timer, '^' .. kind .. '%d+:(.*)$')
        if resource and not isKnown[resource] then
          isKnown[resource] = true
          table.insert(resources, resource)
        end
      end
    end
    return resources
  end

  -- Members of the sorted set come by time, and equals by name; the first letter is the kind.
  function L.settle()
    local timers = base .. 't:' .. P.name
    local due, isDue, lost = call('ZRANGEBYSCORE', timers, '-inf', now), {}, {}
    call('ZREMRANGEBYSCORE', timers, '-inf', now)
    P.isChanged, P.hasNewTimers = true, true
    if isBlank() then
      forget()
      return open(P.name)
    end
    for _, timer in ipairs(due) do
      isDue[timer] = true
      if string.sub(timer, 1, 1) == 'k' then expireKey(string.sub(timer, 2)) end
    end
    local touched = resourcesOf(due)
    for _, resource in ipairs(touched) do
      L.takePlaces(resource, function(place) return isDue[placeTimer(place)] end)
      local leases = L.takeLeases(resource, function(lease) return isDue[leaseTimer(lease)] end)
      for _, lease in ipairs(leases) do lost[leaseTimer(lease)] = lease end
    end
    for _, timer in ipairs(due) do
      if lost[timer] then L.tellLost(lost[timer], 'expired') end
    end
    for _, resource in ipairs(touched) do L.grantWaiting(resource) end
  end

  return L
end

local function settle()
  if P.due and P.due <= now then library().settle() end
end
`;
