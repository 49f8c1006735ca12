// The first part of every script that writes. A partition is a hash `m` (version, numbers, fencing
// marks), a hash `d` of entries (`<version> <expires at, or 0> <json>`), a hash `x` of events that
// tell of expiry, a stream `e` of events, hashes `l` and `q` (resource → list of leases, of places)
// and a sorted set `t` of all that expires, each by its kind: `k` a key, `l` a lease, `w` a place, `a`
// the partition itself when it holds nothing else. Stream ids are `<created>-<version>`, where
// `created` is the time in microseconds at which the partition began, so that they rise even across a
// drop. Beside the partitions of a bucket stand `due` (partition → its next deadline) and `floor` (a
// number that no token of a partition that was dropped exceeds).
//
// Making a function costs a script as much as using it. So what is seldom needed is made by
// `library`, when it is needed. Numbers are passed on as text, which is faster than Redis's own way.

export const PARTITION = `
local call = redis.call
local base = ARGV[1]
local time = call('TIME')
local now = NOW()
local P

local function text(number) return string.format('%d', number) end

local function open(name)
  local meta = base .. 'm:' .. name
  local stored = call('HMGET', meta, 'version', 'created', 'sequence', 'events', 'due',
    'bytes')
  P = { name = name, meta = meta, created = stored[2], due = tonumber(stored[5] or '') }
  if P.created then
    P.version, P.sequence = tonumber(stored[1]), tonumber(stored[3])
    P.events, P.bytes = tonumber(stored[4]), tonumber(stored[6] or 0)
    return
  end
  P.isNew, P.version, P.events, P.bytes = true, 0, 0, 0
  P.created = time[1] .. string.format('%06d', time[2])
  P.sequence = tonumber(call('GET', base .. 'floor') or 0)
end

local function forget()
  if P.sequence > tonumber(call('GET', base .. 'floor') or 0) then
    call('SET', base .. 'floor', text(P.sequence))
  end
  for kind in string.gmatch('mdxelqt', '.') do call('DEL', base .. kind .. ':' .. P.name) end
  call('ZREM', base .. 'due', P.name)
end

-- Nothing tells it from a partition that never was, except its version.
local function isBlank()
  local suffix = ':' .. P.name
  return P.events == 0 and
    call('EXISTS', base .. 'd' .. suffix, base .. 'l' .. suffix, base .. 'q' .. suffix) == 0
end

local function updateDue()
  local due = call('ZRANGE', base .. 't:' .. P.name, 0, 0, 'WITHSCORES')[2]
  if tonumber(due) == P.due then return end
  P.due = tonumber(due)
  call('HSET', P.meta, 'due', due or '')
  if due then call('ZADD', base .. 'due', due, P.name) else call('ZREM', base .. 'due', P.name) end
end

local function expect(member, at)
  P.isChanged, P.hasNewTimers = true, true
  call('ZADD', base .. 't:' .. P.name, at, member)
end

-- With the token that wrote under a lease on the resource, if one did.
local function save(resource, token)
  if not P.isChanged then return end
  if not P.isFilled and P.version > 0 and isBlank() then expect('a', text(now + 600000)) end
  if P.hasNewTimers then updateDue() end
  if P.version == 0 and not P.due then return forget() end
  if P.isNew then call('HSET', P.meta, 'created', P.created) end
  if not resource then
    return call('HSET', P.meta, 'version', text(P.version), 'events', text(P.events),
      'bytes', text(P.bytes), 'sequence', text(P.sequence))
  end
  call('HSET', P.meta, 'version', text(P.version), 'events', text(P.events),
    'bytes', text(P.bytes), 'sequence', text(P.sequence), 'mark:' .. resource, text(token))
end

-- The newest event stays, however large it is.
local function append(event)
  local stream = base .. 'e:' .. P.name
  call('XADD', stream, P.created .. '-' .. text(P.version), 'at', text(now), 'event', event)
  P.events, P.bytes = P.events + 1, P.bytes + #event
  local keepEvents, keepBytes = string.match(ARGV[2], '^(%d+) (%d+)')
  keepEvents, keepBytes = tonumber(keepEvents), tonumber(keepBytes)
  local trimmed
  while P.events > keepEvents or (P.bytes > keepBytes and P.events > 1) do
    local oldest = call('XRANGE', stream, trimmed and '(' .. trimmed or '-', '+', 'COUNT', 1)[1]
    trimmed = oldest[1]
    P.events, P.bytes = P.events - 1, P.bytes - #oldest[2][4]
  end
  if not trimmed then return end
  call('HSET', P.meta, 'trimmed', string.match(trimmed, '%d+$'))
  call('XTRIM', stream, 'MAXLEN', P.events)
end

local function nextNumber()
  P.isChanged = true
  P.sequence = math.max(P.sequence + 1, now)
  return P.sequence
end

-- Whether it was expected.
local function unexpect(member)
  if not P.due and not P.hasNewTimers then return false end
  if call('ZREM', base .. 't:' .. P.name, member) == 0 then return false end
  P.isChanged, P.hasNewTimers = true, true
  return true
end
`;

// Answers to requests with an idempotency key: a string of its own per request, which Redis forgets
// by itself. It names the partition's beginning, so that a dropped partition takes it along; one
// that holds nothing else stays for it.

/** Ends the script with the first answer, if there was one and it is still true. */
export const recall = (isTrue: string) => `
local request = KEYS[2] and string.match(ARGV[2], '^%d+ %d+ (.*)')
if KEYS[2] then
  local stored = call('GET', KEYS[2])
  local answer = stored and cmsgpack.unpack(stored)
  if answer and answer.created == P.created and answer['until'] > now then
    if answer.request ~= request then
      save()
      return { 'reused' }
    end
    if ${isTrue} then
      save()
      return answer.reply
    end
  end
end
`;

/** Keeps `reply`; comes before `save`. */
export const REMEMBER = `
if KEYS[2] then
  local answer = { created = P.created, reply = reply, request = request, ['until'] = now + 600000 }
  call('SET', KEYS[2], cmsgpack.pack(answer), 'PX', 600000)
  if P.version == 0 then expect('a', answer['until']) end
end
`;
