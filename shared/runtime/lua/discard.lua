-- Removes keys of one generation of a partition's state, unless it is in use, a draft, or still read.
--
-- KEYS[1]   the generations: a hash, see generations.lua
-- KEYS[2..] the keys
-- ARGV[1]   their generation
-- returns   how many there were

local found = redis.call('HMGET', KEYS[1], 'inUse', 'draft', 'previous')
if (found[1] or '1') == ARGV[1] or found[2] == ARGV[1] or found[3] == ARGV[1] then return 0 end

local keys = {}
for index = 2, #KEYS do keys[index - 1] = KEYS[index] end
return redis.call('UNLINK', unpack(keys))
