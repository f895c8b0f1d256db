-- Reads what a batch needs together with the fence, as of one moment.
--
-- KEYS[1]   the position: a hash of "fence" and "at"
-- KEYS[2]   the timers: a hash by timer key
-- KEYS[3..] the rows
-- ARGV      the timer keys
-- returns   {fence, JSON or nil for each row, JSON or nil for each timer}; fence "-1" when nothing was written

local reply = { redis.call('HGET', KEYS[1], 'fence') or '-1' }
for index = 3, #KEYS do reply[#reply + 1] = redis.call('GET', KEYS[index]) end
for _, key in ipairs(ARGV) do reply[#reply + 1] = redis.call('HGET', KEYS[2], key) end
return reply
