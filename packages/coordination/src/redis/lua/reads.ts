// Scripts that change nothing. Each begins: KEYS[1] = the partition's hash of numbers. What has
// expired since the last write is still in the answer; the reader compares with `now`.

const NOW = `
local time = redis.call('TIME')
local now = string.format('%d', NOW())
`;

/** KEYS[2]: entries. */
export const READ_ALL = `${NOW}
local version = redis.call('HGET', KEYS[1], 'version') or '0'
return { version, now, redis.call('HGETALL', KEYS[2]) }
`;

/** KEYS[2]: entries. ARGV: keys asked for. */
export const READ_KEYS = `${NOW}
local version = redis.call('HGET', KEYS[1], 'version') or '0'
local found = {}
for _, key in ipairs(ARGV) do
  local entry = redis.call('HGET', KEYS[2], key)
  if entry then
    table.insert(found, key)
    table.insert(found, entry)
  end
end
return { version, now, found }
`;

/**
 * KEYS[2]: the stream. ARGV: after which version, how many. Who begins at 0 has seen nothing that
 * could have been lost.
 */
export const EVENTS = `
local stored = redis.call('HMGET', KEYS[1], 'version', 'created', 'trimmed', 'lost')
if not stored[2] then return { '0', '0', {} } end
local missing = stored[3]
if stored[4] and ARGV[1] ~= '0' and tonumber(stored[4]) > tonumber(missing or 0) then
  missing = stored[4]
end
local after = '(' .. stored[2] .. '-' .. ARGV[1]
return { stored[1], missing, redis.call('XRANGE', KEYS[2], after, '+', 'COUNT', ARGV[2]) }
`;

/** KEYS[2]: lists by resource, of leases or of places. ARGV: a resource, or nothing. */
export const LISTS = `${NOW}
if not ARGV[1] then return { now, redis.call('HVALS', KEYS[2]) } end
return { now, { redis.call('HGET', KEYS[2], ARGV[1]) or nil } }
`;

/**
 * Where the partition is, for one who watches it and knew it before. KEYS: the partition's hash of
 * numbers, its stream. ARGV: when it was created and its version as they were known, and id and time
 * of the newest event up to there, or '' and ''. Answers with these four as they are now.
 *
 * Writes may have been lost since, and other ones taken their versions: a crash, an older snapshot,
 * a failover. Then no cursor up to here says any more what its owner has seen. So the version moves
 * on and all before it counts as `lost`, for every reader. A partition that was recreated and is
 * not as far as the one that was known needs no such mark: cursors beyond its version tell
 * themselves.
 */
export const RESUME = `
local call = redis.call
local stored = call('HMGET', KEYS[1], 'created', 'version', 'trimmed', 'lost')
local created, version = stored[1] or '0', tonumber(stored[2] or 0)
local trimmed, lost = tonumber(stored[3] or 0), tonumber(stored[4] or 0)
local knownCreated, knownVersion, knownId, knownAt = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4]

local function newest(upTo)
  local entry = call('XREVRANGE', KEYS[2], upTo, '-', 'COUNT', 1)[1]
  if not entry then return '', '' end
  return entry[1], entry[2][2]
end

local function isAsKnown()
  if knownVersion < lost then return true end
  if created ~= knownCreated then return version < knownVersion end
  if version < knownVersion then return false end
  local id, at = newest(knownCreated .. '-' .. ARGV[2])
  if id == knownId and at == knownAt then return true end
  return id == '' and tonumber(string.match(knownId, '%d+$')) <= trimmed
end

if created ~= '0' and knownVersion > 0 and not isAsKnown() then
  version = math.max(version, knownVersion) + 1
  local text = string.format('%d', version)
  call('HSET', KEYS[1], 'version', text, 'lost', text)
end
local id, at = newest('+')
return { created, string.format('%d', version), id, at }
`;
