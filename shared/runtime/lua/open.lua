-- Reads where a partition's state stands, as of one moment.
--
-- KEYS[1] the position: a hash of "fence" and "at"
-- KEYS[2] the watermarks: a hash by source
-- returns {fence, message time, source, JSON, source, JSON, …}; fence "-1" when nothing was written

local reply = { redis.call('HGET', KEYS[1], 'fence') or '-1', redis.call('HGET', KEYS[1], 'at') or '0' }
for _, text in ipairs(redis.call('HGETALL', KEYS[2])) do reply[#reply + 1] = text end
return reply
