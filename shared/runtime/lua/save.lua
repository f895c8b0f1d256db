-- Writes what one batch changed, at once or not at all: when the fence is elsewhere, or the generation is not the one to
-- write any more, nothing is written.
--
-- KEYS[1]   the position: a hash of "fence" and "at"
-- KEYS[2]   the watermarks: a hash by source
-- KEYS[3]   the due times: a sorted set of timer keys
-- KEYS[4]   the timers: a hash by timer key
-- KEYS[5]   the generations: a hash, see generations.lua
-- KEYS[6..] the rows, in the order of their arguments
-- ARGV[1]   the fence that the writer expects; offsets are decimal text, compared as text
-- ARGV[2]   the new fence
-- ARGV[3]   its message time
-- ARGV[4]   the number of watermarks, ARGV[5] that of timers
-- ARGV[6]   the generation of these keys, ARGV[7] what it has to be: "inUse" or "draft"
-- ARGV[8..] for each watermark: source, JSON
--           for each timer:     key, due time or "" to clear it, JSON
--           for each row:       "" to remove it, 0 to keep it for ever or its lifetime in ms, JSON
-- returns   "" when written, "retired" where the generation is another one now, else the present fence

local generation = redis.call('HGET', KEYS[5], ARGV[7]) or (ARGV[7] == 'inUse' and '1')
if generation ~= ARGV[6] then return 'retired' end

local fence = redis.call('HGET', KEYS[1], 'fence') or '-1'
if fence ~= ARGV[1] then return fence end

local at = 8
for _ = 1, tonumber(ARGV[4]) do
  redis.call('HSET', KEYS[2], ARGV[at], ARGV[at + 1])
  at = at + 2
end

for _ = 1, tonumber(ARGV[5]) do
  local key, due, json = ARGV[at], ARGV[at + 1], ARGV[at + 2]
  if due == '' then
    redis.call('ZREM', KEYS[3], key)
    redis.call('HDEL', KEYS[4], key)
  else
    redis.call('ZADD', KEYS[3], due, key)
    redis.call('HSET', KEYS[4], key, json)
  end
  at = at + 3
end

-- Rows without a lifetime are written together, so many at once as fit on the stack of a script.
local lasting, count = {}, 0
local function flush()
  if count > 0 then redis.call('MSET', unpack(lasting, 1, count)) end
  count = 0
end

for row = 6, #KEYS do
  local lifetime, json = ARGV[at], ARGV[at + 1]
  if lifetime == '0' then
    lasting[count + 1], lasting[count + 2] = KEYS[row], json
    count = count + 2
    if count == 2000 then flush() end
  elseif lifetime == '' then
    redis.call('DEL', KEYS[row])
  else
    redis.call('SET', KEYS[row], json, 'PX', lifetime)
  end
  at = at + 2
end
flush()

-- The fence comes last: a script that fails half-way is repeated from the same fence, and writes the same again.
redis.call('HSET', KEYS[1], 'fence', ARGV[2], 'at', ARGV[3])
return ''
