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
