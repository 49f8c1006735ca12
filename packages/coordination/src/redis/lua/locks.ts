// Leases and places as lists of JSON per resource, in the order of grants and of the queue; and what
// time alone changes, in the order the port promises: events of expired keys, lost leases, grants.

import { OVERTAKEN_FOR_MS } from '@starloom/core';

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

  local function isBlocked(leases, mode)
    for _, lease in ipairs(leases) do
      if mode == 'exclusive' or lease.mode == 'exclusive' then return true end
    end
    return false
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

  -- Nothing in the way, and nobody to overtake; who waits, waits for a lease.
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

  function L.grantWaiting(resource)
    local places, leases, granted = L.places(resource), L.leases(resource), {}
    while places[1] and not isBlocked(leases, places[1].mode) do
      local place = table.remove(places, 1)
      unexpect('w' .. place.ticket)
      local lease = L.grant(leases, place)
      raiseAndAppend(cjson.encode({
        type = 'lock.granted', resource = resource, holder = lease.holder, token = lease.token,
        mode = lease.mode, expires_at = lease.expiresAt, ticket = lease.ticket,
      }))
      table.insert(granted, cjson.encode(lease))
    end
    if #granted > 0 then
      L.setPlaces(resource, places)
      L.setLeases(resource, leases)
    end
    return granted
  end

  function L.takeLease(resource, token)
    local leases = L.leases(resource)
    local index = L.find(leases, 'token', token)
    if not index then return nil end
    local lease = table.remove(leases, index)
    L.setLeases(resource, leases)
    unexpect(leaseTimer(lease))
    return lease
  end

  function L.takePlace(ticket)
    local resource = string.match(ticket, '^%d+:(.*)$')
    local places = resource and L.places(resource) or {}
    local index = L.find(places, 'ticket', ticket)
    if not index then return nil end
    table.remove(places, index)
    L.setPlaces(resource, places)
    unexpect('w' .. ticket)
    return resource
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

  local function expireLease(timer)
    local token, resource = string.match(timer, '^(%d+):(.*)$')
    local lease = L.takeLease(resource, tonumber(token))
    if lease then L.tellLost(lease, 'expired') end
    return lease and resource
  end

  -- Members of the sorted set come by time, and equals by name; the first letter is the kind.
  function L.settle()
    local timers = base .. 't:' .. P.name
    local due = call('ZRANGEBYSCORE', timers, '-inf', now)
    call('ZREMRANGEBYSCORE', timers, '-inf', now)
    P.isChanged, P.hasNewTimers = true, true
    if isBlank() then
      forget()
      return open(P.name)
    end
    local touched, isTouched = {}, {}
    for _, kind in ipairs({ 'k', 'w', 'l' }) do
      local expire = kind == 'k' and expireKey or kind == 'w' and L.takePlace or expireLease
      for _, member in ipairs(due) do
        local resource = string.sub(member, 1, 1) == kind and expire(string.sub(member, 2))
        if resource and not isTouched[resource] then
          isTouched[resource] = true
          table.insert(touched, resource)
        end
      end
    end
    for _, resource in ipairs(touched) do L.grantWaiting(resource) end
  end

  return L
end

local function settle()
  if P.due and P.due <= now then library().settle() end
end
`;
