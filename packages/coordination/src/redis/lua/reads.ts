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
 * could have been lost (see resume.ts).
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
