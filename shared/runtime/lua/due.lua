-- Reads the timers that are due, earliest first.
--
-- KEYS[1] the due times: a sorted set of timer keys
-- KEYS[2] the timers: a hash by timer key
-- ARGV[1] the instant
-- ARGV[2] the most timers to return
-- returns the JSON of each

local keys = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', ARGV[1], 'LIMIT', 0, ARGV[2])
local timers = {}
for index, key in ipairs(keys) do timers[index] = redis.call('HGET', KEYS[2], key) end
return timers
